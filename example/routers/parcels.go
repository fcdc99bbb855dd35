// Package routers mounts one server on five routers.
package routers

import (
	"context"
	"net/http"

	"github.com/idemgen/idemgen/runtime"
)

//go:generate go tool idemgen

// Parcels is the API that is mounted.
//
//idem:api prefix=/v1
type Parcels interface {
	// Send sends a parcel.
	//
	//idem:endpoint POST /parcels status=201
	Send(ctx context.Context, in Parcel) (*Sent, error)

	// Return sends a parcel back. A label may have slashes, which clients
	// escape.
	//
	//idem:endpoint POST /parcels/{label}/return
	Return(ctx context.Context, in Return) (*Sent, error)
}

// Parcel is the input of Send.
type Parcel struct {
	To string `json:"to"`
}

// Return is the input of Return.
type Return struct {
	Label string `json:"-" path:"label"`
}

// Sent is the answer of both.
type Sent struct {
	Label string `json:"label"`
}

// New returns a server of the API on a ledger. It names the caller by a header,
// as a proxy in front of it might set one.
func New(ledger runtime.Ledger, opts ...runtime.Option) (*ParcelsServer, error) {
	caller := func(r *http.Request) (string, error) { return r.Header.Get("X-Account"), nil }
	return NewParcelsServer(parcels{}, ledger, caller, opts...)
}

type parcels struct{}

func (parcels) Send(_ context.Context, in Parcel) (*Sent, error) {
	return &Sent{Label: "to " + in.To}, nil
}

func (parcels) Return(_ context.Context, in Return) (*Sent, error) {
	return &Sent{Label: in.Label}, nil
}
