package ledgers_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/ledgers/emitted/plain"
	"github.com/idemgen/idemgen/internal/e2e/ledgers/harness"
)

// A database of UTF-16 text rewrites bytes that are not UTF-8: principals that
// differ in them would be one. Such a file is refused when the schema is
// created, before any key is.
func TestUTF16IsRefused(t *testing.T) {
	for _, encoding := range []string{"UTF-16le", "UTF-16be"} {
		for driverName, dsn := range map[string]func(string) string{modernc: moderncDSN, mattn: mattnDSN} {
			file := filepath.Join(t.TempDir(), "ledger.db")
			create, err := sql.Open(driverName, dsn(file))
			if err != nil {
				t.Fatal(err)
			}
			create.SetMaxOpenConns(1)
			for _, statement := range []string{"PRAGMA encoding = '" + encoding + "'", "CREATE TABLE orders (id INTEGER)"} {
				if _, err := create.Exec(statement); err != nil {
					t.Fatal(err)
				}
			}
			if err := create.Close(); err != nil {
				t.Fatal(err)
			}
			db := harness.File(t, driverName, file)
			var got string
			if err := db.Writer.QueryRow("PRAGMA encoding").Scan(&got); err != nil || got != encoding {
				t.Fatalf("encoding %q, %v; want %s, or the test shows nothing", got, err, encoding)
			}
			_, err = plain.Open(t.Context(), db.Writer)
			if err == nil || !strings.Contains(err.Error(), "utf8") {
				t.Errorf("Open on a file of %s through %s: %v; want it refused by name", encoding, driverName, err)
			}
		}
	}
}
