package ledgers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/ledgers/emitted/plain"
	"github.com/idemgen/idemgen/internal/e2e/ledgers/harness"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

func TestStart(t *testing.T) {
	for _, driverName := range []string{modernc, mattn} {
		t.Run(driverName, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "ledger.db")
			p := harness.File(t, driverName, file)
			if _, err := plain.Open(t.Context(), p.Writer, sqlledger.WithSchemaManaged()); err == nil || !strings.Contains(err.Error(), "no such table") {
				t.Fatalf("Open of an empty file whose schema is managed: %v", err)
			}
			var tables int
			if err := p.Writer.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil || tables != 0 {
				t.Fatalf("%d objects, %v; want none in a file whose schema is managed", tables, err)
			}
			// An operator applies the emitted schema, as a whole.
			if _, err := p.Writer.Exec(plain.Schema); err != nil {
				t.Fatal(err)
			}
			if _, err := plain.Open(t.Context(), p.Writer, sqlledger.WithSchemaManaged()); err != nil {
				t.Fatal(err)
			}
			// A start reads only: it waits for no writer.
			other := harness.File(t, driverName, file)
			if _, err := p.Writer.Exec("BEGIN IMMEDIATE"); err != nil {
				t.Fatal(err)
			}
			if _, err := plain.Open(t.Context(), other.Writer); err != nil {
				t.Errorf("Open beside a writer: %v", err)
			}
			if _, err := p.Writer.Exec("ROLLBACK"); err != nil {
				t.Fatal(err)
			}
			if _, err := p.Writer.Exec("UPDATE idempotency_keys_schema SET version = 2"); err != nil {
				t.Fatal(err)
			}
			if _, err := plain.Open(t.Context(), p.Writer); err == nil || !strings.Contains(err.Error(), "version 2") {
				t.Errorf("Open of a schema of version 2: %v", err)
			}
			if _, err := p.Reader.Exec("DELETE FROM idempotency_keys"); err == nil {
				t.Error("a reader can write")
			}
		})
	}
}

// A table of another shape under the ledger's name is told at the start.
func TestStartOnAnotherTable(t *testing.T) {
	p := harness.File(t, modernc, filepath.Join(t.TempDir(), "ledger.db"))
	if _, err := p.Writer.Exec("CREATE TABLE idempotency_keys (key TEXT PRIMARY KEY, sweep_at INTEGER)"); err != nil {
		t.Fatal(err)
	}
	if _, err := plain.Open(t.Context(), p.Writer); err == nil || !strings.Contains(err.Error(), "another table of that name") {
		t.Errorf("Open: %v", err)
	}
}

func TestOpenSQLiteSettings(t *testing.T) {
	for _, driverName := range []string{modernc, mattn} {
		t.Run(driverName, func(t *testing.T) {
			p := harness.File(t, driverName, filepath.Join(t.TempDir(), "ledger.db"))
			for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "busy_timeout": "5000"} {
				for range 3 {
					var got, reads string
					if err := p.Writer.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
						t.Errorf("the writer's %s is %s, %v; want %s", pragma, got, err, want)
					}
					if err := p.Reader.QueryRow("PRAGMA " + pragma).Scan(&reads); err != nil || reads != want {
						t.Errorf("a reader's %s is %s, %v; want %s", pragma, reads, err, want)
					}
				}
			}
		})
	}
}

func TestOpenSQLiteOfNoFile(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("This is no database. ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, driverName := range []string{modernc, mattn} {
		for _, dsn := range []string{
			t.TempDir(), filepath.Join(t.TempDir(), "no such folder", "ledger.db"), text,
			":memory:", "file::memory:", "file:shop?mode=memory", "",
		} {
			if db, err := sqlledger.OpenSQLite(driverName, dsn); err == nil {
				t.Errorf("OpenSQLite(%s, %q) succeeded", driverName, dsn)
				db.Close()
			}
		}
	}
}
