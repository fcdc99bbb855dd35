// Command forgetful is the example's shop, which now and then forgets under
// which key a request came. It is there to be found out.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/idemgen/idemgen/example/orders"
	"github.com/idemgen/idemgen/example/store"
)

func main() {
	addr := flag.String("addr", "", "address to listen on")
	db := flag.String("db", "", "database")
	every := flag.Int64("every", 10, "each of how many requests is mistaken")
	flag.Parse()
	log.Fatal(run(context.Background(), *addr, *db, *every))
}

func run(ctx context.Context, addr, db string, every int64) error {
	s, err := store.Open(ctx, db)
	if err != nil {
		return err
	}
	shop := &orders.Shop{Writer: s.Writer, Reader: s.Reader, Dialect: s.Dialect}
	if err := shop.CreateTables(ctx); err != nil {
		return err
	}
	server, err := orders.NewOrdersServer(shop, s.Keys, func(r *http.Request) (string, error) {
		return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), nil
	})
	if err != nil {
		return err
	}
	var requests atomic.Int64
	return http.ListenAndServe(addr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := requests.Add(1); n%every == 0 {
			r.Header.Set("Idempotency-Key", fmt.Sprint(r.Header.Get("Idempotency-Key"), " ", n))
		}
		server.ServeHTTP(w, r)
	}))
}
