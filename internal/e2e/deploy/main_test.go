// Package deploy_test runs releases of the example that differ in their
// directives side by side on one database, as a rolling deploy does.
package deploy_test

import (
	"database/sql"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/idemgen/idemgen/internal/e2e/process"
	"github.com/idemgen/idemgen/prove/servers"
)

var postgres *servers.Postgres

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	var err error
	if postgres, err = servers.StartPostgres(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer postgres.Stop()
	return m.Run()
}

// database is an empty database: its name for the servers, and a connection for
// looking at what they did.
type database struct {
	name string
	*sql.DB
}

var names atomic.Int64

func newDatabase(t *testing.T) database {
	t.Helper()
	name := fmt.Sprintf("deploy_%d", names.Add(1))
	if err := postgres.Create(name); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", postgres.DSN(name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return database{postgres.URL(name), db}
}

// start starts a binary of the example on the database.
func (db database) start(t *testing.T, binary string) *process.Server {
	t.Helper()
	return process.StartWith(t, []string{"DATABASE_URL=" + db.name}, binary, "-addr", "127.0.0.1:0", "-simulate")
}

// each calls see for every row of a query's result.
func (db database) each(t *testing.T, query string, see func(scan func(...any))) {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		see(func(into ...any) {
			t.Helper()
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
		})
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
