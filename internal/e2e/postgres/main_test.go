// Package postgres_test runs ledgers on PostgreSQL, through pgx and through
// database/sql.
package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/idemgen/idemgen/internal/e2e/postgres/emitted/native"
	"github.com/idemgen/idemgen/internal/e2e/postgres/emitted/standard"
	"github.com/idemgen/idemgen/prove/servers"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/ledgertest"
	"github.com/idemgen/idemgen/runtime/pgxledger"
)

// server is started once for all tests that let it live.
var server *servers.Postgres

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if server, err = servers.StartPostgres(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer server.Stop()
	return m.Run()
}

var databases atomic.Int64

// create makes an empty database for one test. Settings are defaults of its
// sessions, as in "timezone TO 'Asia/Tokyo'".
func create(t testing.TB, settings ...string) string {
	t.Helper()
	name := fmt.Sprintf("ledger_%d", databases.Add(1))
	if err := server.Create(name, settings...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Drop(name); err != nil {
			t.Error(err)
		}
	})
	return name
}

// ledger is what both drivers' ledgers are.
type ledger interface {
	runtime.OperatorLedger
	runtime.RetryNotifier
}

// driver is a way to PostgreSQL.
type driver struct {
	name string
	// open opens a ledger, with at most that many connections; 0 is no limit.
	open func(t testing.TB, dsn string, connections int) ledger
	// conformance runs both suites on one pool. Each case begins in an empty
	// database.
	conformance func(t *testing.T, dsn string, connections int, beside *sql.DB)
}

var drivers = []driver{
	throughPGX("pgx"),
	{"sql", func(t testing.TB, dsn string, connections int) ledger {
		return openStandard(t, openSQL(t, dsn, connections))
	}, func(t *testing.T, dsn string, connections int, beside *sql.DB) {
		db := openSQL(t, dsn, connections)
		ledgertest.Run(t, func(t *testing.T) ledgertest.Harness {
			clean(t, beside)
			return ledgertest.Harness{Ledger: openStandard(t, db), Age: age(t, beside), Advance: advance(t, beside)}
		})
		ledgertest.RunTx(t, func(t *testing.T) ledgertest.TxHarness {
			clean(t, beside)
			h := ledgertest.TxHarness{Ledger: openStandard(t, db), DB: beside, Age: age(t, beside)}
			if connections != 1 {
				h.Reader = beside
			}
			return h
		})
	}},
}

// throughPGX is pgx with options of the ledger.
func throughPGX(name string, opts ...pgxledger.Option) driver {
	return driver{name, func(t testing.TB, dsn string, connections int) ledger {
		return openNative(t, openPool(t, dsn, connections), opts...)
	}, func(t *testing.T, dsn string, connections int, beside *sql.DB) {
		pool := openPool(t, dsn, connections)
		ledgertest.Run(t, func(t *testing.T) ledgertest.Harness {
			clean(t, beside)
			return ledgertest.Harness{Ledger: openNative(t, pool, opts...), Age: age(t, beside), Advance: advance(t, beside)}
		})
		ledgertest.RunTxOf(t, func(tx pgx.Tx) ledgertest.Handle { return pgxHandle{tx} }, func(t *testing.T) ledgertest.TxHarnessOf[pgx.Tx] {
			clean(t, beside)
			h := ledgertest.TxHarnessOf[pgx.Tx]{Ledger: openNative(t, pool, opts...), DB: beside, Age: age(t, beside)}
			if connections != 1 {
				h.Reader = beside
			}
			return h
		})
	}}
}

// apart is pgx with a commit for every write.
var apart = throughPGX("pgx-apart", pgxledger.WithSharedCommits(false))

// each runs a test through both drivers, and through pgx with a commit for every
// write. Through database/sql every write has its own in any case.
func each(t *testing.T, test func(t *testing.T, d driver)) {
	eachDriver(t, test)
	t.Run(apart.name, func(t *testing.T) { test(t, apart) })
}

// eachDriver runs a test through both drivers as they are by default.
func eachDriver(t *testing.T, test func(t *testing.T, d driver)) {
	for _, d := range drivers {
		t.Run(d.name, func(t *testing.T) { test(t, d) })
	}
}

// pgxHandle is a handler's transaction for the suite.
type pgxHandle struct{ tx pgx.Tx }

func (h pgxHandle) Exec(ctx context.Context, statement string) error {
	_, err := h.tx.Exec(ctx, statement)
	return err
}

func (h pgxHandle) Commit(ctx context.Context) error   { return h.tx.Commit(ctx) }
func (h pgxHandle) Rollback(ctx context.Context) error { return h.tx.Rollback(ctx) }

func openNative(t testing.TB, pool *pgxpool.Pool, opts ...pgxledger.Option) interface {
	ledger
	runtime.TxLedger[pgx.Tx]
} {
	t.Helper()
	l, err := native.Open(context.Background(), pool, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func openStandard(t testing.TB, db *sql.DB) interface {
	ledger
	runtime.TxLedger[*sql.Tx]
} {
	t.Helper()
	l, err := standard.Open(context.Background(), db)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// openSQL opens a database through database/sql.
func openSQL(t testing.TB, dsn string, connections int) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(32)
	t.Cleanup(func() { db.Close() })
	return db
}

// openPool opens a pool of pgx.
func openPool(t testing.TB, dsn string, connections int) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 32
	if connections > 0 {
		config.MaxConns = int32(connections)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// clean drops what an earlier case has left in a database. A transaction that
// it has left open is an error, and not waited for.
func clean(t testing.TB, db *sql.DB) {
	t.Helper()
	if _, err := db.Exec(`SET lock_timeout TO '20s'; DROP TABLE IF EXISTS idempotency_keys, idempotency_keys_schema, ledgertest_effects`); err != nil {
		t.Fatal(err)
	}
}

// age moves the rows of the table, as if the clock had moved the other way.
func age(t testing.TB, db *sql.DB) func(time.Duration) {
	return func(d time.Duration) {
		t.Helper()
		_, err := db.Exec(`UPDATE idempotency_keys SET claimed_at = claimed_at - $1, lease_until = lease_until - $1,
			expires_at = expires_at - $1, gone_at = gone_at - $1, sweep_at = sweep_at - $1, created_at = created_at - $1`, d.Milliseconds())
		if err != nil {
			t.Fatal(err)
		}
	}
}

// advance gives a row a recovery point.
func advance(t testing.TB, db *sql.DB) func(runtime.ID, string) {
	return func(id runtime.ID, point string) {
		t.Helper()
		_, err := db.Exec(`UPDATE idempotency_keys SET recovery_point = $1, recovery_state = 'x' WHERE principal = $2 AND scope = $3 AND key = $4`,
			point, []byte(id.Principal), []byte(id.Scope), []byte(id.Key))
		if err != nil {
			t.Fatal(err)
		}
	}
}

// expire makes rows of alice due for a sweep, and past being remembered.
func expire(t testing.TB, db *sql.DB, keys ...string) {
	t.Helper()
	for _, key := range keys {
		_, err := db.Exec("UPDATE idempotency_keys SET lease_until = 1, expires_at = 1, gone_at = 1, sweep_at = 1 WHERE principal = 'alice' AND scope = '' AND key = $1", []byte(key))
		if err != nil {
			t.Fatal(err)
		}
	}
}

// sqlTx is a handler's transaction through database/sql.
type sqlTx = *sql.Tx

// insertIn claims a key by the emitted statement, inside a transaction that has
// been open for a while.
func insertIn(ctx context.Context, tx pgx.Tx, c runtime.Claim) (native.InsertRow, error) {
	return native.New().Insert(ctx, tx, native.InsertParams{
		Principal: []byte(c.Principal), Scope: []byte(c.Scope), Key: []byte(c.Key),
		Operation: c.Operation, Policy: c.Policy, Fingerprint: c.Fingerprint[:], Owner: c.Owner[:],
		LeaseMs: c.Lease.Milliseconds(), RetainMs: c.Retain.Milliseconds(), GoneMs: c.Gone.Milliseconds(),
	})
}
