package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Target is a database with the servers that share it, and how to attack them.
type Target struct {
	Name string
	// Servers are the command lines of the processes. {listen} stands for the
	// address to listen on, {db} for the database's name and {dbaddr} for its
	// host and port, by way of the process's own proxy; {NAME} for the address
	// of a service. Words before the program that have the form NAME=value go
	// into its environment, where a name with a password belongs: everybody can
	// read arguments.
	Servers  [][]string
	Database *Database
	// Services are what the servers call, by name.
	Services   map[string]*Line
	Requests   []*Request
	Principals []string // two or more, so that keys can be shared; default alice and bob
	// Table is the ledger's, in the same database; "" where it is elsewhere.
	Table string
	// Lease is the longest lease of the requests. Servers are paused for longer.
	Lease time.Duration
	// Clients is how many ask at once; default 16.
	Clients int

	// MustLive says that a server never ends by itself, not even without its
	// database.
	MustLive bool
	// Squeeze gives arguments with which a server opens few connections to its
	// database, for one life; nil knows none.
	Squeeze func(*rand.Rand) []string
	// Waits is how often the server at an address had to wait for a
	// connection; nil does not know.
	Waits func(ctx context.Context, address string) int
}

// Effect is how an effect and its answer come to stand together.
type Effect int

const (
	// Transaction: the effect commits with the answer, and stands if and only
	// if it does.
	Transaction Effect = iota
	// Derived: the effect is made elsewhere, and a derived key or a fencing number
	// makes it at most once.
	Derived
	// Claim: the effect is made once at most for each claim of its key. A
	// server that dies between the effect and the answer leaves a key that
	// runs again.
	Claim
)

// Request is what clients want to have done once. Its texts are templates: of
// {key}, {principal}, {reference}, a text that no other request has, {number},
// an integer that no other has, and {amount}, a positive integer which clients
// that make a mistake change.
type Request struct {
	Name, Method, Path string
	Header             map[string]string // with the headers of key and principal
	Body               string
	// Answer is a text that every answer of status 2xx has in it.
	Answer string
	Effect Effect
	// Effects is a statement that lists all effects, a row for each: its
	// reference, and its amount where it has two columns. "" looks for none.
	Effects string
	// EffectsIn is the database to look in; nil is the target's.
	EffectsIn *sql.DB
	// Prepare is a statement that goes before each new reference, and may go
	// twice; it is a template, too.
	Prepare string
	// Generation reads the generation of the claim from an answer; nil does not
	// know it.
	Generation func(body string) int64
}

// ready fills in defaults and says what is missing.
func (t *Target) ready() error {
	if len(t.Servers) == 0 || t.Database == nil || len(t.Requests) == 0 {
		return errors.New("a target has servers, a database and requests")
	}
	if len(t.Principals) == 0 {
		t.Principals = []string{"alice", "bob"}
	}
	if t.Clients == 0 {
		t.Clients = 16
	}
	if t.Lease <= 0 {
		return errors.New("a target has a lease")
	}
	for _, r := range t.Requests {
		if r.Effects != "" && r.EffectsIn == nil {
			if r.EffectsIn = t.Database.DB; r.EffectsIn == nil {
				return fmt.Errorf("%s: there is no database to look for effects in", r.Name)
			}
		}
		if r.Effect == Transaction && r.EffectsIn != t.Database.DB && r.Effects != "" {
			return fmt.Errorf("%s: effects of a transaction are in the ledger's database", r.Name)
		}
	}
	return nil
}
