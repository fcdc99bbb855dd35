package idemtest

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime/memory"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// Clock is the clock of a ledger, which tests move. It is safe for concurrent
// use; the zero value shows the system's time.
type Clock struct {
	mu     sync.Mutex
	offset time.Duration
	move   func(time.Duration) error // nil where Now is asked
}

// Now returns the system's time and what the clock was moved by.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

// Advance moves the clock forward by d: leases and retentions of that length
// are over. It does not move the deadlines of handlers that are running.
func (c *Clock) Advance(t testing.TB, d time.Duration) {
	t.Helper()
	if d < 0 {
		t.Fatalf("idemtest: Advance: %v: a ledger's clock is moved forward", d)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
	if c.move == nil {
		return
	}
	if err := c.move(d); err != nil {
		t.Fatalf("idemtest: Advance: %v", err)
	}
}

// Memory returns an empty ledger in memory and its clock. It has no
// transactions: for endpoints that want one, use [SQLite] or the database of
// the service's own tests.
func Memory() (*memory.Ledger, *Clock) {
	c := &Clock{}
	return memory.New(memory.WithClock(c.Now)), c
}

// SQLite opens a new SQLite file, which is gone after the test, through a driver
// that the test imports. Hand Writer and Reader to the Open of an emitted
// ledger, and create the service's own tables in it.
func SQLite(t testing.TB, driver string) *sqlledger.SQLite {
	t.Helper()
	db, err := sqlledger.OpenSQLite(driver, filepath.Join(t.TempDir(), "test.db"))
	if err != nil {
		t.Fatalf("idemtest: SQLite: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("idemtest: SQLite: %v", err)
		}
	})
	return db
}

// SQLClock returns a clock for a ledger in a table of a database, which nobody
// but the test uses. Ledgers take the time from their database, so that moving
// the clock makes the table's rows older instead. "" is the table
// idempotency_keys.
func SQLClock(t testing.TB, db *sql.DB, table string) *Clock {
	t.Helper()
	if table == "" {
		table = "idempotency_keys"
	}
	if !tableName.MatchString(table) {
		t.Fatalf("idemtest: SQLClock: %q is no table's name: NAME or SCHEMA.NAME", table)
	}
	return &Clock{move: func(d time.Duration) error {
		// The fencing number, claimed_at, never goes back.
		_, err := db.Exec(fmt.Sprintf(`UPDATE %s SET lease_until = lease_until - %[2]d, expires_at = expires_at - %[2]d,
			gone_at = gone_at - %[2]d, sweep_at = sweep_at - %[2]d, created_at = created_at - %[2]d`, table, d.Milliseconds()))
		return err
	}}
}

var tableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?$`)
