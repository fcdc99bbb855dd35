// Package mysql_test runs ledgers on MariaDB.
package mysql_test

import (
	"database/sql"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idemgen/idemgen/internal/e2e/mysql/emitted/ledger"
	"github.com/idemgen/idemgen/prove/servers"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// server is started once for all tests.
var server *servers.MariaDB

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if server, err = servers.StartMariaDB(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer server.Stop()
	return m.Run()
}

var databases atomic.Int64

// create makes an empty database for one test.
func create(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("ledger_%d", databases.Add(1))
	if err := server.Create(name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Run("SET STATEMENT lock_wait_timeout = 10 FOR DROP DATABASE " + name); err != nil {
			t.Error(err)
		}
	})
	return name
}

// open opens a pool with at most that many connections; 0 is no limit.
func open(t testing.TB, dsn string, connections int) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(64)
	return db
}

// newLedger opens a ledger in an empty database, over connections with these
// parameters.
func newLedger(t testing.TB, connections int, options ...string) (*sqlledger.Ledger, *sql.DB) {
	t.Helper()
	db := open(t, server.DSN(create(t), options...), connections)
	l, err := ledger.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return l, db
}

// age moves every time of the table, so that its rows are older by d.
func age(t testing.TB, db *sql.DB) func(d time.Duration) { return ageOf(t, db, "idempotency_keys") }

func ageOf(t testing.TB, db *sql.DB, table string) func(d time.Duration) {
	return func(d time.Duration) {
		t.Helper()
		ms := d.Milliseconds()
		_, err := db.Exec("UPDATE "+table+` SET claimed_at = claimed_at - ?, lease_until = lease_until - ?,
			expires_at = expires_at - ?, gone_at = gone_at - ?, sweep_at = sweep_at - ?, created_at = created_at - ?`, ms, ms, ms, ms, ms, ms)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// advance gives a row of a table a recovery point.
func advance(t testing.TB, db *sql.DB, table string) func(runtime.ID, string) {
	return func(id runtime.ID, point string) {
		t.Helper()
		_, err := db.Exec("UPDATE "+table+" SET recovery_point = ?, recovery_state = 'x' WHERE principal = ? AND scope = ? AND `key` = ?",
			point, id.Principal, id.Scope, id.Key)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// expire makes rows of alice due for a sweep, and past being remembered. It
// reads no other row: others may be locked.
func expire(t testing.TB, db *sql.DB, keys ...string) {
	t.Helper()
	for _, key := range keys {
		_, err := db.Exec("UPDATE idempotency_keys SET lease_until = 1, expires_at = 1, gone_at = 1, sweep_at = 1 WHERE principal = 'alice' AND scope = '' AND `key` = ?", key)
		if err != nil {
			t.Fatal(err)
		}
	}
}
