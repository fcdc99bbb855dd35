package main

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/idemgen/idemgen/example/checkout"
	"github.com/idemgen/idemgen/example/payments"
	"github.com/idemgen/idemgen/example/store"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// bench is a checkout behind a bad network, and the payment service behind the
// checkout. Each listens on a port of its own.
type bench struct {
	run     string // tells the keys of this run from those of others
	charges *payments.Service
	network *network
	client  *http.Client
	closers []func() error
}

// openBench starts all of it on a database, or on a file of its own.
func openBench(ctx context.Context, db string) (b *bench, err error) {
	b = &bench{run: rand.Text(), client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	dir, err := os.MkdirTemp("", "idemgen-lab-")
	if err != nil {
		return b, err
	}
	b.closing(func() error { return os.RemoveAll(dir) })
	if db == "" {
		db = filepath.Join(dir, "checkout.db")
	}

	paid, err := sqlledger.OpenSQLite("sqlite", filepath.Join(dir, "payments.db"))
	if err != nil {
		return b, err
	}
	b.closing(paid.Close)
	if b.charges, err = payments.NewService(ctx, paid.Writer); err != nil {
		return b, err
	}
	chargesURL, err := b.serve(b.charges)
	if err != nil {
		return b, err
	}

	s, err := store.Open(ctx, db)
	if err != nil {
		return b, err
	}
	b.closing(s.Close)
	service := &checkout.Service{
		Payments: &payments.Client{URL: chargesURL, HTTP: payments.NewHTTP(nil)},
		Unkeyed:  &payments.Client{URL: chargesURL, HTTP: http.DefaultClient},
	}
	server, err := checkout.NewCheckoutServer(service, s.Keys, func(*http.Request) (string, error) { return "alice", nil })
	if err != nil {
		return b, err
	}
	b.closing(func() error { return server.Close(context.Background()) })
	checkoutURL, err := b.serve(server)
	if err != nil {
		return b, err
	}

	var proxy *http.Server
	if b.network, proxy, err = newNetwork(checkoutURL); err != nil {
		return b, err
	}
	b.closing(proxy.Close)
	return b, nil
}

// serve serves a handler on a free port.
func (b *bench) serve(h http.Handler) (url string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute}
	go server.Serve(listener)
	b.closing(server.Close)
	return "http://" + listener.Addr().String(), nil
}

func (b *bench) closing(f func() error) { b.closers = append(b.closers, f) }

// close ends all of it, the youngest first.
func (b *bench) close() error {
	var errs []error
	for i := len(b.closers) - 1; i >= 0; i-- {
		errs = append(errs, b.closers[i]())
	}
	return errors.Join(errs...)
}
