// Command keys is the operator's side of the shop's ledger.
package main

import (
	"context"
	"flag"
	"log"
	"os"

	_ "modernc.org/sqlite"

	"github.com/idemgen/idemgen/example/orders/ledger"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/operate"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

func main() {
	file := flag.String("db", "orders.db", "SQLite file")
	flag.Parse()
	ctx := context.Background()
	db, err := sqlledger.OpenSQLite("sqlite", *file)
	if err != nil {
		log.Fatal(err)
	}
	keys, err := ledger.Open(ctx, db.Writer, sqlledger.WithReader(db.Reader), sqlledger.WithSchemaManaged())
	if err != nil {
		log.Fatal(err)
	}
	operator, err := runtime.NewOperator(keys)
	if err != nil {
		log.Fatal(err)
	}
	status := operate.Main(ctx, operator, flag.Args(), os.Stdout, os.Stderr)
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}
	os.Exit(status)
}
