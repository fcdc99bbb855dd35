package harness

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// Modes tells that the files of a ledger are its owner's alone, through a
// driver, unless the user says otherwise.
func Modes(t *testing.T, driverName string) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		dsn, file string
		earlier   fs.FileMode // of a file that is there already; 0: there is none
		opts      []sqlledger.SQLiteOption
		want      fs.FileMode
	}{
		"new":             {"a.db", "a.db", 0, nil, 0o600},
		"a URI":           {"file:b%20c.db?mode=rwc", "b c.db", 0, nil, 0o600},
		"shared":          {"d.db", "d.db", 0, []sqlledger.SQLiteOption{sqlledger.WithFileMode(0o660)}, 0o660},
		"there already":   {"e.db", "e.db", 0o640, nil, 0o640},
		"there and asked": {"f.db", "f.db", 0o600, []sqlledger.SQLiteOption{sqlledger.WithFileMode(0o666)}, 0o600},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(dir)
			if c.earlier != 0 {
				if err := os.WriteFile(c.file, nil, c.earlier); err != nil {
					t.Fatal(err)
				}
			}
			dsn := c.dsn
			if driverName == "sqlite3" && filepath.Ext(dsn) == ".db" {
				// One of the drivers of that name takes URIs alone.
				dsn = "file:" + dsn
			}
			db, err := sqlledger.OpenSQLite(driverName, dsn, c.opts...)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.Writer.Exec("CREATE TABLE t (x)"); err != nil {
				t.Fatal(err)
			}
			for _, end := range []string{"", "-wal", "-shm"} {
				info, err := os.Stat(c.file + end)
				if err != nil {
					t.Fatal(err)
				}
				if got := info.Mode().Perm(); got != c.want {
					t.Errorf("%s has the mode %o; want %o", info.Name(), got, c.want)
				}
			}
		})
	}
}
