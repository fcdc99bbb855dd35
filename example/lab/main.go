// Command lab places orders over a network that loses requests and answers,
// with three kinds of client: one that sends no key, one that makes a new key
// for every attempt, and one that keeps a key for each order. It prints what
// they were charged.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/idemgen/idemgen/example/store"
)

func main() {
	orders := flag.Int("orders", 100, "orders of each client")
	seed := flag.Uint64("seed", 1, "seed of what the network loses; equal seeds give equal numbers")
	db := flag.String("db", "", "postgres://user@host/name, or an SQLite file (default DATABASE_URL, or else a file that is removed again)")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, store.Name(*db, ""), *orders, *seed); err != nil {
		log.Fatal(err)
	}
}

// run prints one line for each kind of client.
func run(ctx context.Context, out io.Writer, db string, orders int, seed uint64) error {
	b, err := openBench(ctx, db)
	if err != nil {
		return err
	}
	defer b.close()
	for i, kind := range kinds {
		attempts, err := b.place(ctx, kind, orders, seed+uint64(i))
		if err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
		charges, double, err := b.charged(ctx, kind)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-12s orders %d  attempts %d  charges %d  double-charged %d\n", kind.name, orders, attempts, charges, double)
	}
	return nil
}
