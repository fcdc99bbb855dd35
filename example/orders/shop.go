package orders

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/idemgen/idemgen/example/payments"
	"github.com/idemgen/idemgen/runtime"
)

// Shop implements Orders on a database. It is safe for concurrent use.
type Shop struct {
	Writer  *sql.DB
	Reader  *sql.DB
	Dialect Dialect
	// Payments charges orders when they are placed; nil charges nothing.
	Payments *payments.Client
	// Simulation lets requests carry "simulate".
	Simulation bool
}

var _ Orders = (*Shop)(nil)

// CreateTables creates the shop's tables where they are missing.
func (s *Shop) CreateTables(ctx context.Context) error {
	for _, statement := range s.Dialect.tables() {
		if _, err := s.Writer.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("create the shop's tables: %w", err)
		}
	}
	return nil
}

// errUnknown is the answer for an order that the caller does not have.
var errUnknown = &runtime.Error{Status: http.StatusNotFound, Code: "order_unknown", Message: "There is no such order."}

// price is what one of anything costs, in cents.
const price = 250

// Create implements Orders. The charge is made elsewhere, under a key that
// derives from the request's: however often this runs, it is one charge.
func (s *Shop) Create(ctx context.Context, in CreateOrder) (*Order, error) {
	if err := s.simulate(ctx, in.Simulate); err != nil {
		return nil, err
	}
	if s.Payments != nil {
		if err := s.Payments.Charge(ctx, "order", in.SKU, int64(in.Qty)*price); err != nil {
			return nil, fmt.Errorf("charge order: %w", err)
		}
	}
	o := &Order{SKU: in.SKU, Qty: in.Qty, Status: "placed"}
	var err error
	if o.ID, err = s.Dialect.insert(ctx, s.Writer,
		`INSERT INTO orders (account, sku, qty, status) VALUES (?, ?, ?, ?)`,
		runtime.Principal(ctx), o.SKU, o.Qty, o.Status); err != nil {
		return nil, fmt.Errorf("place order: %w", err)
	}
	o.Location = fmt.Sprintf("/v1/orders/%d", o.ID)
	return o, nil
}

// Cancel implements Orders. The simulation comes between the effect and the
// answer, where a crash would hurt most.
func (s *Shop) Cancel(ctx context.Context, tx *sql.Tx, in CancelOrder) (*Order, error) {
	o := &Order{ID: in.ID}
	err := tx.QueryRowContext(ctx, s.Dialect.query(`SELECT sku, qty, status FROM orders WHERE id = ? AND account = ?`),
		in.ID, runtime.Principal(ctx)).Scan(&o.SKU, &o.Qty, &o.Status)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, errUnknown
	case err != nil:
		return nil, fmt.Errorf("read order: %w", err)
	case o.Status == "cancelled":
		return nil, &runtime.Error{Status: http.StatusConflict, Code: "order_cancelled", Message: "The order has been cancelled already."}
	}
	o.Status = "cancelled"
	if _, err := tx.ExecContext(ctx, s.Dialect.query(`UPDATE orders SET status = ? WHERE id = ?`), o.Status, o.ID); err != nil {
		return nil, fmt.Errorf("cancel order: %w", err)
	}
	if _, err := tx.ExecContext(ctx, s.Dialect.query(`INSERT INTO cancellations (order_id) VALUES (?)`), o.ID); err != nil {
		return nil, fmt.Errorf("record cancellation: %w", err)
	}
	if err := s.simulate(ctx, in.Simulate); err != nil {
		return nil, err
	}
	return o, nil
}

// Upload implements Orders.
func (s *Shop) Upload(ctx context.Context, r *runtime.Request) (*runtime.Response, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return nil, errUnknown
	}
	result, err := s.Writer.ExecContext(ctx,
		s.Dialect.query(`INSERT INTO receipts (order_id, body) SELECT id, ? FROM orders WHERE id = ? AND account = ?`),
		append([]byte{}, r.Body...), id, runtime.Principal(ctx))
	if err != nil {
		return nil, fmt.Errorf("keep receipt: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil {
		return nil, fmt.Errorf("keep receipt: %w", err)
	} else if n == 0 {
		return nil, errUnknown
	}
	return &runtime.Response{Header: http.Header{"Content-Type": r.Header["Content-Type"]}, Body: r.Body}, nil
}

// Refund implements Orders.
func (s *Shop) Refund(w http.ResponseWriter, r *http.Request) {
	var in struct {
		OrderID  int64     `json:"order_id"`
		Amount   int64     `json:"amount"`
		Simulate *Simulate `json:"simulate"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Amount < 1 {
		http.Error(w, "want order_id and a positive amount", http.StatusBadRequest)
		return
	}
	if err := s.simulate(r.Context(), in.Simulate); err != nil {
		http.Error(w, "the refund failed", http.StatusInternalServerError)
		return
	}
	result, err := s.Writer.ExecContext(r.Context(),
		s.Dialect.query(`INSERT INTO refunds (order_id, amount) SELECT id, ? FROM orders WHERE id = ? AND account = ?`),
		in.Amount, in.OrderID, runtime.Principal(r.Context()))
	if err != nil {
		http.Error(w, "the refund failed", http.StatusInternalServerError)
		return
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		http.Error(w, "no such order", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"order_id":%d,"amount":%d}`, in.OrderID, in.Amount)
}

// List returns an account's orders, oldest first.
func (s *Shop) List(ctx context.Context, account string) ([]Order, error) {
	rows, err := s.Reader.QueryContext(ctx,
		s.Dialect.query(`SELECT id, sku, qty, status FROM orders WHERE account = ? ORDER BY id`), account)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []Order{}
	for rows.Next() {
		var o Order
		if err := rows.Scan(&o.ID, &o.SKU, &o.Qty, &o.Status); err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, rows.Err()
}

func (s *Shop) simulate(ctx context.Context, wanted *Simulate) error {
	if wanted != nil && !s.Simulation {
		return &runtime.Error{Status: http.StatusUnprocessableEntity, Code: "simulation_off", Message: "This server does not simulate."}
	}
	return wanted.play(ctx)
}
