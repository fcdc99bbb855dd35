package bench_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/memory"
)

// poolSize is how many connections every pool of a server database holds. They
// are open before the clock starts. SQLite has the pools of OpenSQLite.
const poolSize = 32

// store is a database with an empty ledger in it, and with a table for what a
// request costs at the least.
type store struct {
	ledger runtime.Ledger
	// claim and complete are the bare two statements, with one commit each,
	// and read is the bare read by primary key. All go through the driver and
	// the pools of the ledger.
	claim, complete, read func(key string) error
	count                 func() counts // nil: there is nothing to count
}

// family is a database and the ways to keep a ledger in it.
type family struct {
	name    string
	flights []int
	shared  func(*testing.B) store
	apart   func(*testing.B) store // one commit a row; nil where nothing is shared
	bare    bool                   // there are bare statements
}

var (
	flights       = []int{1, 8, 32, 128}
	sqliteFlights = []int{1, 8, 16, 32, 64, 128} // its bars are at 16 and 64
)

var families = []family{
	{name: "memory", flights: flights, shared: func(*testing.B) store { return store{ledger: memory.New()} }},
	{name: "sqlite", flights: sqliteFlights, bare: true,
		shared: func(b *testing.B) store { return openSQLite(b, true) },
		apart:  func(b *testing.B) store { return openSQLite(b, false) }},
	{name: "postgres", flights: flights, bare: true,
		shared: func(b *testing.B) store { return openPostgres(b, true) },
		apart:  func(b *testing.B) store { return openPostgres(b, false) }},
	{name: "mariadb", flights: flights, bare: true, shared: openMariaDB},
}

// The bare statements write what a ledger written by hand would: the key, a
// fingerprint, the state and the answer.
var fingerprint = make([]byte, 32)

// bareSQL are the bare statements through database/sql.
func (s *store) bareSQL(writer, reader *sql.DB, insert, update, read string) {
	s.claim = func(key string) error { _, err := writer.Exec(insert, key, fingerprint); return err }
	s.complete = func(key string) error { _, err := writer.Exec(update, answer.Status, answer.Body, key); return err }
	s.read = func(key string) error {
		var status int
		var print, body []byte
		return reader.QueryRow(read, key).Scan(&print, &status, &body)
	}
}

// fill opens all connections of a pool.
func fill(b *testing.B, db *sql.DB, size int) {
	b.Helper()
	for range size {
		conn, err := db.Conn(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
	}
}
