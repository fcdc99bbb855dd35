package ledgers_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/ledgers/emitted/plain"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// A file whose commits a power cut can undo is refused, unless that is meant.
func TestWeakDurabilityIsRefused(t *testing.T) {
	modernc := func(journal, synchronous string) string {
		return "?_pragma=journal_mode(" + journal + ")&_pragma=synchronous(" + synchronous + ")"
	}
	mattn := func(journal, synchronous string) string {
		return "?_journal_mode=" + journal + "&_synchronous=" + synchronous
	}
	for driverName, settings := range map[string]func(string, string) string{"sqlite": modernc, "sqlite3": mattn} {
		for _, c := range []struct{ journal, synchronous, says string }{
			{"WAL", "FULL", ""}, {"WAL", "EXTRA", ""}, {"DELETE", "FULL", ""}, {"TRUNCATE", "FULL", ""},
			{"WAL", "NORMAL", "synchronous is NORMAL"}, {"DELETE", "NORMAL", "synchronous is NORMAL"},
			{"WAL", "OFF", "synchronous is OFF"}, {"MEMORY", "FULL", "journal_mode"}, {"OFF", "FULL", "journal_mode"},
		} {
			name := driverName + ": " + c.journal + ", " + c.synchronous
			db, err := sql.Open(driverName, "file:"+filepath.Join(t.TempDir(), "ledger.db")+settings(c.journal, c.synchronous))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			_, err = plain.Open(t.Context(), db)
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%s: Open says %v; want %q", name, err, c.says)
			}
			if _, err := plain.Open(t.Context(), db, sqlledger.WithWeakDurability()); err != nil {
				t.Errorf("%s, where it is meant: %v", name, err)
			}
		}
	}
}
