// Command server is the checkout of the example, for attacks: its handlers
// take a moment, and it prints what happens to its claims.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/idemgen/idemgen/example/checkout"
	"github.com/idemgen/idemgen/example/payments"
	"github.com/idemgen/idemgen/example/store"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "address to listen on")
	db := flag.String("db", "", "postgres://user@host/name, or an SQLite file; the default is DATABASE_URL")
	paid := flag.String("payments", "", "URL of the payment service")
	connections := flag.Int("connections", 0, "how many connections to open at most; 0 leaves the example's number")
	linger := flag.Duration("linger", 10*time.Millisecond, "how long a handler takes, about")
	mistaken := flag.Bool("mistaken", false, "make mistakes, for the checker to find")
	flag.Parse()
	if err := run(context.Background(), *addr, store.Name(*db, ""), *paid, *connections, *linger, *mistaken); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, addr, db, paid string, connections int, linger time.Duration, mistaken bool) error {
	s, err := store.Open(ctx, db)
	if err != nil {
		return err
	}
	if connections > 0 {
		s.Writer.SetMaxOpenConns(connections)
	}
	if _, err := s.Writer.ExecContext(ctx, checkout.Tables); err != nil {
		return err
	}
	service := &slow{linger: linger}
	service.Payments = &payments.Client{URL: paid, HTTP: payments.NewHTTP(http.DefaultTransport)}
	server, err := checkout.NewCheckoutServer(service, &ledger{s.Keys}, account, runtime.WithObserver(runtime.ObserverFunc(observe)))
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	var handler http.Handler = server
	if mistaken {
		handler = mistakes(server)
	}
	mux.Handle("/", handler)
	mux.HandleFunc("GET /pool", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(s.Writer.Stats())
	})
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return (&http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}).Serve(listener)
}

func account(r *http.Request) (string, error) {
	if name := r.Header.Get("X-Account"); name != "" {
		return name, nil
	}
	return "", errors.New("no account")
}

// observe prints events, unbuffered: a kill loses none that happened.
func observe(_ context.Context, e runtime.Event) {
	fmt.Println("prove: event", e.Kind)
	if e.Err != nil && strings.Contains(e.Err.Error(), "disk is full") {
		fmt.Println("prove: event disk_full")
	}
}

// ledger prints what it could not store at once.
type ledger struct{ *sqlledger.Ledger }

// Complete implements runtime.Ledger.
func (l *ledger) Complete(ctx context.Context, c runtime.Completion) (bool, error) {
	stands, err := l.Ledger.Complete(ctx, c)
	if err != nil || !stands {
		fmt.Printf("prove: unstored %d %s/%s\n", c.Generation, c.Principal, c.Key)
	}
	return stands, err
}

// slow is a checkout whose work takes a moment before, between and after its
// effects, so that attacks from outside find it there.
type slow struct {
	checkout.Service
	linger time.Duration
}

func (s *slow) Charge(ctx context.Context, in checkout.Payment) (*checkout.Receipt, error) {
	defer begin()()
	s.wait(ctx)
	receipt, err := s.Service.Charge(ctx, in)
	s.wait(ctx)
	return receipt, err
}

func (s *slow) Transfer(ctx context.Context, tx *sql.Tx, in checkout.Payment) (*checkout.Receipt, error) {
	return s.book(ctx, tx, in, -in.Cents, in.Cents)
}

func (s *slow) Withdraw(ctx context.Context, tx *sql.Tx, in checkout.Payment) (*checkout.Receipt, error) {
	return s.book(ctx, tx, in, in.Cents)
}

func (s *slow) book(ctx context.Context, tx *sql.Tx, in checkout.Payment, amounts ...int64) (*checkout.Receipt, error) {
	defer begin()()
	s.wait(ctx)
	for _, cents := range amounts {
		if err := checkout.Book(ctx, tx, in.Reference, cents); err != nil {
			return nil, err
		}
		s.wait(ctx)
	}
	return &checkout.Receipt{Reference: in.Reference, Cents: in.Cents, Generation: runtime.Generation(ctx)}, nil
}

// begin prints that a handler runs, and the function that it returns that it
// has ended.
func begin() (end func()) {
	fmt.Println("prove: begin")
	return func() { fmt.Println("prove: end") }
}

// wait takes a moment, and now and then a long one.
func (s *slow) wait(ctx context.Context) {
	limit := s.linger
	switch n := rand.IntN(100); {
	case n < 2:
		limit *= 30
	case n < 10:
		limit *= 8
	}
	select {
	case <-time.After(rand.N(limit)):
	case <-ctx.Done():
	}
}
