// Command example is a shop whose orders are safe to retry.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/idemgen/idemgen/example/orders"
	"github.com/idemgen/idemgen/example/payments"
	"github.com/idemgen/idemgen/example/store"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on; port 0 takes a free one")
	db := flag.String("db", "", "postgres://user@host/name, mysql://user@host/name, or an SQLite file (default DATABASE_URL, or else orders.db)")
	charges := flag.String("payments", "", "URL of the payment service; without one nothing is charged")
	simulate := flag.Bool("simulate", false, `let requests carry "simulate"`)
	share := flag.Bool("shared-commits", true, "let writes of concurrent requests commit together, where the database gains from it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, store.Name(*db, "orders.db"), *charges, *simulate, *share); err != nil {
		log.Fatal(err)
	}
}

// run serves the shop until ctx ends.
func run(ctx context.Context, addr, database, charges string, simulate, share bool) error {
	db, err := store.Open(ctx, database, sqlledger.WithSharedCommits(share))
	if err != nil {
		return err
	}
	defer db.Close()
	shop := &orders.Shop{Writer: db.Writer, Reader: db.Reader, Dialect: db.Dialect, Simulation: simulate}
	if charges != "" {
		shop.Payments = &payments.Client{URL: charges, HTTP: payments.NewHTTP(nil)}
	}
	if err := shop.CreateTables(ctx); err != nil {
		return err
	}
	server, err := orders.NewOrdersServer(shop, db.Keys, principal)
	if err != nil {
		return err
	}

	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	return serve(ctx, newServer(routes(server, shop.List)), listener, server)
}

// newServer bounds what a client may cost: a header, a body and an answer have
// their time, and so has a connection on which nothing happens. WriteTimeout is
// above the handlers' deadline.
func newServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    128 << 10,
	}
}

// serve serves until ctx ends, and then lets what runs come to its end.
func serve(ctx context.Context, server *http.Server, listener net.Listener, guarded *orders.OrdersServer) error {
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	return errors.Join(server.Shutdown(ctx), guarded.Close(ctx))
}

// principal takes the bearer token for the account, which will do for a shop
// with two customers.
func principal(r *http.Request) (string, error) {
	switch token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); token {
	case "alice", "bob":
		return token, nil
	}
	return "", errors.New("no such account")
}
