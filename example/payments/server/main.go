// Command server is a payment service for the shop to charge at.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	_ "modernc.org/sqlite"

	"github.com/idemgen/idemgen/example/payments"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8081", "address to listen on; port 0 takes a free one")
	file := flag.String("db", "payments.db", "SQLite file")
	flag.Parse()
	if err := run(*addr, *file); err != nil {
		log.Fatal(err)
	}
}

func run(addr, file string) error {
	db, err := sqlledger.OpenSQLite("sqlite", file)
	if err != nil {
		return err
	}
	defer db.Close()
	service, err := payments.NewService(context.Background(), db.Writer)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	server := &http.Server{Handler: service, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute}
	return server.Serve(listener)
}
