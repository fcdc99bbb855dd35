// Package orders is the order API of the shop.
package orders

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

//go:generate go tool idemgen

// Orders is what customers do with their orders. Each method is safe to retry.
//
//idem:api prefix=/v1
//idem:ledger engine=sqlite,postgres,mysql dir=ledger
//idem:fingerprint Content-Type X-Api-Version
//idem:lease 10s timeout=8s
//idem:retain 24h
type Orders interface {
	// Create places an order.
	//
	//idem:endpoint POST /orders status=201
	//idem:request max=64KiB
	//idem:response max=16KiB
	Create(ctx context.Context, in CreateOrder) (*Order, error)

	// Cancel withdraws an order; its effect and its answer commit together.
	//
	//idem:endpoint POST /orders/{id}/cancel
	Cancel(ctx context.Context, tx *sql.Tx, in CancelOrder) (*Order, error)

	// Upload takes a receipt as it comes and gives it back.
	//
	//idem:endpoint PUT /orders/{id}/receipt
	Upload(ctx context.Context, r *runtime.Request) (*runtime.Response, error)

	// Refund is a handler that existed before: it keeps its signature.
	//
	//idem:endpoint POST /refunds
	Refund(w http.ResponseWriter, r *http.Request)
}

// CreateOrder is the input of Create.
type CreateOrder struct {
	SKU      string    `json:"sku"`
	Qty      int       `json:"qty"`
	Simulate *Simulate `json:"simulate,omitempty"`

	Version string `json:"-" header:"X-Api-Version"`
}

// Validate says what is wrong with an order. What the databases would refuse is
// refused here, where it costs nobody a key: a text that is too long for its
// column or that a character set lacks.
func (in CreateOrder) Validate() error {
	switch {
	case in.SKU == "":
		return errors.New(`member "sku" is required`)
	case len(in.SKU) > 100 || strings.ContainsFunc(in.SKU, func(r rune) bool { return r < ' ' || r > '~' }):
		return errors.New(`member "sku" must be at most 100 characters of printable ASCII`)
	case in.Qty < 1 || in.Qty > 1_000_000:
		return errors.New(`member "qty" must be from 1 to 1000000`)
	}
	return nil
}

// CancelOrder is the input of Cancel.
type CancelOrder struct {
	ID       int64     `json:"-" path:"id"`
	Simulate *Simulate `json:"simulate,omitempty"`
}

// Order is one order of an account.
type Order struct {
	ID     int64  `json:"id"`
	SKU    string `json:"sku"`
	Qty    int    `json:"qty"`
	Status string `json:"status"`

	Location string `json:"-" header:"Location"`
}

// Simulate makes work slow, failing or crashing, so that it can be shown from
// outside.
type Simulate struct {
	DelayMS int    `json:"delay_ms"`
	Outcome string `json:"outcome"` // "", "error" or "panic"
}

// play does what was asked for, until ctx ends.
func (s *Simulate) play(ctx context.Context) error {
	if s == nil {
		return nil
	}
	select {
	case <-time.After(time.Duration(s.DelayMS) * time.Millisecond):
	case <-ctx.Done():
		return ctx.Err()
	}
	switch s.Outcome {
	case "error":
		return errors.New("simulated error")
	case "panic":
		panic("simulated panic")
	}
	return nil
}
