// Package checkout shows the three ways in which an effect and its answer come
// to stand together: an effect elsewhere under a derived key, and effects in the
// ledger's own database in two commits or in one.
package checkout

import (
	"context"
	"database/sql"
	"errors"
	"strings"
)

//go:generate go tool idemgen

// Checkout is what customers do with their money. Each method is safe to retry.
// It has no ledger of its own: it shares the shop's.
//
//idem:api prefix=/v1
//idem:lease 2s timeout=1s
type Checkout interface {
	// Charge charges the customer at the payment service. A client may leave
	// the key out, and is charged as often as it asks then.
	//
	//idem:endpoint POST /charges status=201
	//idem:key optional
	Charge(ctx context.Context, in Payment) (*Receipt, error)

	// Transfer books an amount out of one account and into another. The claim
	// commits first, so that others see it at once.
	//
	//idem:endpoint POST /transfers status=201
	//idem:commit twice retry=2
	Transfer(ctx context.Context, tx *sql.Tx, in Payment) (*Receipt, error)

	// Withdraw books an amount out of an account. Claim, booking and answer are
	// one commit.
	//
	//idem:endpoint POST /withdrawals status=201
	//idem:commit once retry=2
	Withdraw(ctx context.Context, tx *sql.Tx, in Payment) (*Receipt, error)
}

// Payment is the input of all methods.
type Payment struct {
	Reference string `json:"reference"`
	Cents     int64  `json:"cents"`
}

// Validate says what is wrong with a payment.
func (in Payment) Validate() error {
	if in.Reference == "" || in.Cents < 1 {
		return errors.New("a payment has a reference and positive cents")
	}
	if len(in.Reference) > 255 || strings.ContainsFunc(in.Reference, func(r rune) bool { return r < ' ' || r > '~' }) {
		return errors.New("a reference has at most 255 characters of printable ASCII")
	}
	return nil
}

// Receipt is the answer of all methods.
type Receipt struct {
	Reference string `json:"reference"`
	Cents     int64  `json:"cents"`
	// Generation is that of the claim under which the work was done.
	Generation int64 `json:"generation"`
}
