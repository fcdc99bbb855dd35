// Command server is the checkout of the example, which sends itself a signal at
// one point of its work.
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	goruntime "runtime"
	"syscall"
	"time"

	"github.com/idemgen/idemgen/example/checkout"
	"github.com/idemgen/idemgen/example/payments"
	"github.com/idemgen/idemgen/example/store"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

func main() {
	db := flag.String("db", "", "postgres://user@host/name, or an SQLite file; the default is DATABASE_URL")
	paid := flag.String("payments", "", "URL of the payment service")
	point := flag.String("at", "", "where the signal is sent")
	stop := flag.Bool("stop", false, "send SIGSTOP instead of SIGKILL")
	delay := flag.Duration("delay", 0, "how long after the start of a commit the signal is sent")
	share := flag.Bool("shared-commits", true, "let writes of concurrent requests commit together")
	flag.Parse()
	f := &fate{point: *point, signal: syscall.SIGKILL, delay: *delay}
	if *stop {
		f.signal = syscall.SIGSTOP
	}
	if err := run(context.Background(), store.Name(*db, ""), *paid, *share, f); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, db, paid string, share bool, f *fate) error {
	s, err := store.Open(ctx, db, sqlledger.WithSharedCommits(share))
	if err != nil {
		return err
	}
	if _, err := s.Writer.ExecContext(ctx, checkout.Tables); err != nil {
		return err
	}
	service := &doomed{
		fate:   f,
		charge: checkout.Service{Payments: &payments.Client{URL: paid, HTTP: payments.NewHTTP(f.transport(http.DefaultTransport))}},
	}
	server, err := checkout.NewCheckoutServer(service, &ledger{s.Keys, f}, func(*http.Request) (string, error) { return "alice", nil })
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	return http.Serve(listener, server)
}

// fate is where and how the process ends.
type fate struct {
	point  string
	signal syscall.Signal
	delay  time.Duration
}

// reach sends the signal when this is the point. After SIGKILL it does not
// return; after SIGSTOP it does, when the process is continued.
func (f *fate) reach(point string) {
	if f.point != point {
		return
	}
	f.send()
}

// send sends to this very thread, which then goes no further: a signal to the
// process may reach another thread first.
func (f *fate) send() {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	syscall.Tgkill(syscall.Getpid(), syscall.Gettid(), f.signal)
	if f.signal == syscall.SIGKILL {
		select {}
	}
}

// transport reaches its point when the other side has done its part and we do
// not know it yet.
func (f *fate) transport(base http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := base.RoundTrip(r)
		f.reach("inside the effect")
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// doomed implements the checkout.
type doomed struct {
	fate   *fate
	charge checkout.Service
}

func (d *doomed) Charge(ctx context.Context, in checkout.Payment) (*checkout.Receipt, error) {
	receipt, err := d.charge.Charge(ctx, in)
	d.fate.reach("after the effect")
	return receipt, err
}

func (d *doomed) Transfer(ctx context.Context, tx *sql.Tx, in checkout.Payment) (*checkout.Receipt, error) {
	return d.book(ctx, tx, in)
}

func (d *doomed) Withdraw(ctx context.Context, tx *sql.Tx, in checkout.Payment) (*checkout.Receipt, error) {
	return d.book(ctx, tx, in)
}

// book books twice, so that there is an inside.
func (d *doomed) book(ctx context.Context, tx *sql.Tx, in checkout.Payment) (*checkout.Receipt, error) {
	if err := checkout.Book(ctx, tx, in.Reference, -in.Cents); err != nil {
		return nil, err
	}
	d.fate.reach("inside the effect")
	if err := checkout.Book(ctx, tx, in.Reference, in.Cents); err != nil {
		return nil, err
	}
	d.fate.reach("after the effect")
	return &checkout.Receipt{Reference: in.Reference, Cents: in.Cents, Generation: runtime.Generation(ctx)}, nil
}
