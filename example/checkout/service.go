package checkout

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/idemgen/idemgen/example/payments"
	"github.com/idemgen/idemgen/runtime"
)

// Service implements Checkout. It is safe for concurrent use.
type Service struct {
	// Payments sends charges under derived keys, and Unkeyed those of requests
	// without a key.
	Payments *payments.Client
	Unkeyed  *payments.Client
}

var _ Checkout = (*Service)(nil)

// Tables creates what the service books into, where it is missing. The
// database refuses amounts of a million and more.
const Tables = `CREATE TABLE IF NOT EXISTS bookings (reference TEXT NOT NULL, cents BIGINT NOT NULL CHECK (cents < 100000000))`

// Charge implements Checkout.
func (s *Service) Charge(ctx context.Context, in Payment) (*Receipt, error) {
	client := s.Payments
	if runtime.Key(ctx) == "" {
		client = s.Unkeyed
	}
	if err := client.Charge(ctx, "charge", in.Reference, in.Cents); err != nil {
		return nil, fmt.Errorf("charge: %w", err)
	}
	return receipt(ctx, in), nil
}

// Transfer implements Checkout.
func (s *Service) Transfer(ctx context.Context, tx *sql.Tx, in Payment) (*Receipt, error) {
	for _, cents := range []int64{-in.Cents, in.Cents} {
		if err := Book(ctx, tx, in.Reference, cents); err != nil {
			return nil, err
		}
	}
	return receipt(ctx, in), nil
}

// Withdraw implements Checkout.
func (s *Service) Withdraw(ctx context.Context, tx *sql.Tx, in Payment) (*Receipt, error) {
	if err := Book(ctx, tx, in.Reference, in.Cents); err != nil {
		return nil, err
	}
	return receipt(ctx, in), nil
}

// Book books an amount. The parameters are numbered, which both databases
// understand.
func Book(ctx context.Context, tx *sql.Tx, reference string, cents int64) error {
	if _, err := tx.ExecContext(ctx, `INSERT INTO bookings (reference, cents) VALUES ($1, $2)`, reference, cents); err != nil {
		return fmt.Errorf("book: %w", err)
	}
	return nil
}

func receipt(ctx context.Context, in Payment) *Receipt {
	return &Receipt{Reference: in.Reference, Cents: in.Cents, Generation: runtime.Generation(ctx)}
}
