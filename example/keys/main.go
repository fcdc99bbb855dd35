// Command keys is the operator's side of the shop's ledger.
package main

import (
	"context"
	"flag"
	"log"
	"os"

	"github.com/idemgen/idemgen/example/store"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/operate"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

func main() {
	name := flag.String("db", "", "postgres://user@host/name, mysql://user@host/name, or an SQLite file (default DATABASE_URL, or else orders.db)")
	flag.Parse()
	ctx := context.Background()
	db, err := store.Open(ctx, store.Name(*name, "orders.db"), sqlledger.WithSchemaManaged())
	if err != nil {
		log.Fatal(err)
	}
	operator, err := runtime.NewOperator(db.Keys)
	if err != nil {
		log.Fatal(err)
	}
	status := operate.Main(ctx, operator, flag.Args(), os.Stdout, os.Stderr)
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}
	os.Exit(status)
}
