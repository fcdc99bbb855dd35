package sqlledger_test

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// Drivers of files of several kinds.
var (
	settable   = &stub{mode: "wal"}
	memoryOnly = &stub{mode: "memory"}
	refusing   = &stub{err: errFinal}
	busy       = &stub{err: errBusy}
)

func init() {
	sql.Register("stub refusing", refusing)
	sql.Register("stub memory", memoryOnly)
	sql.Register("stub busy", busy)
	sql.Register("stub", settable)
}

func TestOpenSQLiteRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ name, driver, dsn, want string }{
		{"no name", "stub", "", "is not a file"},
		{"memory", "stub", ":memory:", "is not a file"},
		{"memory of a URI", "stub", "file::memory:?cache=shared", "is not a file"},
		{"named memory", "stub", "file:shop?mode=memory&cache=shared", "is not a file"},
		{"a driver that is not registered", "no such driver", "shop.db", "no such driver"},
		{"a file without WAL", "stub memory", "shop.db", `journal mode is "memory"`},
		{"a connection that cannot be set up", "stub refusing", "shop.db", "PRAGMA busy_timeout"},
	} {
		db, err := sqlledger.OpenSQLite(c.driver, c.dsn)
		if db != nil || err == nil || !strings.HasPrefix(err.Error(), "idemgen: OpenSQLite: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; want an error with %q", c.name, db, err, c.want)
		}
	}
	if _, err := sqlledger.OpenSQLite("stub refusing", "shop.db"); !errors.Is(err, errFinal) {
		t.Errorf("a connection that cannot be set up: %v; want the driver's error in it", err)
	}
}

// The settings are made on each connection, also the first.
func TestOpenSQLiteSetsUp(t *testing.T) {
	t.Chdir(t.TempDir())
	settable.executed = nil
	db, err := sqlledger.OpenSQLite("stub", "shop.db")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	want := []string{"PRAGMA busy_timeout = 5000", "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA schema_version", "PRAGMA journal_mode"}
	if !slices.Equal(settable.executed, want) {
		t.Errorf("the writer ran %q; want %q", settable.executed, want)
	}
	settable.executed = nil
	if err := db.Reader.Ping(); err != nil {
		t.Fatal(err)
	}
	if want := append(want[:4:4], "PRAGMA query_only = 1"); !slices.Equal(settable.executed, want) {
		t.Errorf("the reader ran %q; want %q", settable.executed, want)
	}
}

// Two processes that switch one file to WAL at once are told "locked" without
// a wait; the one that loses tries again, within limits.
func TestOpenSQLiteTriesAgain(t *testing.T) {
	t.Chdir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		busy.executed = nil
		if _, err := sqlledger.OpenSQLite("stub busy", "shop.db"); !errors.Is(err, errBusy) {
			t.Errorf("OpenSQLite of a file that stays locked: %v; want %v", err, errBusy)
		}
		if tries := len(busy.executed); tries < 5 || tries > 100 {
			t.Errorf("%d tries; want several, and not without end", tries)
		}
	})
}
