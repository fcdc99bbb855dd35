// Package harness runs the conformance suite on SQLite files, through whatever
// driver a test package has registered.
package harness

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/ledgertest"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// Open is the constructor of an emitted ledger package.
type Open func(context.Context, *sql.DB, ...sqlledger.Option) (*sqlledger.Ledger, error)

// Pools are the databases of one ledger.
type Pools struct {
	Writer *sql.DB
	Reader *sql.DB // nil where the writer reads
	// Apart makes every write a commit of its own.
	Apart bool
}

// File is a SQLite file opened in two pools, the way services should.
func File(t testing.TB, driverName, dsn string) Pools {
	t.Helper()
	db, err := sqlledger.OpenSQLite(driverName, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return Pools{Writer: db.Writer, Reader: db.Reader}
}

// Plain is what sql.Open makes, with at most that many connections; 0 is no
// limit.
func Plain(t testing.TB, driverName, dsn string, connections int) Pools {
	t.Helper()
	db, err := sql.Open(driverName, dsn)
	if err != nil {
		t.Fatal(err)
	}
	return Own(t, db, connections)
}

// Own takes a database over, with at most that many connections.
func Own(t testing.TB, db *sql.DB, connections int) Pools {
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	db.SetMaxOpenConns(connections)
	return Pools{Writer: db}
}

// Run runs both suites on new pools for each case.
func Run(t *testing.T, table string, open Open, pools func(t *testing.T, file string) Pools) {
	ledger := func(t *testing.T) (*sqlledger.Ledger, Pools) {
		p := pools(t, filepath.Join(t.TempDir(), "ledger.db"))
		var opts []sqlledger.Option
		if p.Reader != nil {
			opts = append(opts, sqlledger.WithReader(p.Reader))
		}
		opts = append(opts, sqlledger.WithSharedCommits(!p.Apart))
		l, err := open(t.Context(), p.Writer, opts...)
		if err != nil {
			t.Fatal(err)
		}
		return l, p
	}
	t.Run("Ledger", func(t *testing.T) {
		ledgertest.Run(t, func(t *testing.T) ledgertest.Harness {
			l, p := ledger(t)
			return ledgertest.Harness{Ledger: l, Age: Age(t, p.Writer, table), Advance: advance(t, p.Writer, table)}
		})
	})
	t.Run("Tx", func(t *testing.T) {
		ledgertest.RunTx(t, func(t *testing.T) ledgertest.TxHarness {
			l, p := ledger(t)
			return ledgertest.TxHarness{Ledger: l, DB: p.Writer, Reader: p.Reader, Age: Age(t, p.Writer, table)}
		})
	})
}

// Age moves every time of a table, so that its rows are older by d.
func Age(t testing.TB, db *sql.DB, table string) func(d time.Duration) {
	return func(d time.Duration) {
		t.Helper()
		_, err := db.Exec(`UPDATE `+table+` SET claimed_at = claimed_at - ?1, lease_until = lease_until - ?1,
			expires_at = expires_at - ?1, gone_at = gone_at - ?1, sweep_at = sweep_at - ?1, created_at = created_at - ?1`, d.Milliseconds())
		if err != nil {
			t.Fatal(err)
		}
	}
}

// advance gives a row of a table a recovery point.
func advance(t testing.TB, db *sql.DB, table string) func(runtime.ID, string) {
	return func(id runtime.ID, point string) {
		t.Helper()
		_, err := db.Exec(`UPDATE `+table+` SET recovery_point = ?, recovery_state = x'01' WHERE principal = ? AND scope = ? AND key = ?`,
			point, id.Principal, id.Scope, id.Key)
		if err != nil {
			t.Fatal(err)
		}
	}
}
