package bench_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"

	"modernc.org/sqlite"

	ledger "github.com/idemgen/idemgen/example/orders/ledger/sqlite"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// openSQLite opens a file of its own with synchronous=FULL, which is what
// OpenSQLite sets.
func openSQLite(b *testing.B, share bool) store {
	b.Helper()
	db, err := sqlledger.OpenSQLite("sqlite", filepath.Join(b.TempDir(), "ledger.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	if _, err := db.Writer.Exec(`CREATE TABLE bare (key TEXT PRIMARY KEY, fingerprint BLOB, status TEXT, code INTEGER, body BLOB) STRICT`); err != nil {
		b.Fatal(err)
	}
	s := store{
		ledger: openSQLiteOn(b, db, sqlledger.WithSharedCommits(share)),
		count:  func() counts { return counts{"commits": float64(sqliteCommits.Load())} },
	}
	s.bareSQL(db.Writer, db.Reader,
		`INSERT INTO bare (key, fingerprint, status) VALUES (?, ?, 'pending') ON CONFLICT DO NOTHING`,
		`UPDATE bare SET status = 'completed', code = ?, body = ? WHERE key = ? AND status = 'pending'`,
		`SELECT fingerprint, code, body FROM bare WHERE key = ?`)
	return s
}

func openSQLiteOn(b *testing.B, db *sqlledger.SQLite, opts ...sqlledger.Option) *sqlledger.Ledger {
	b.Helper()
	l, err := ledger.Open(context.Background(), db.Writer, append(opts, sqlledger.WithReader(db.Reader))...)
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// sqliteCommits counts the transactions of all files that were open for a write
// when they were committed; one that changed nothing syncs nothing.
var sqliteCommits atomic.Int64

func init() {
	sqlite.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, _ string) error {
		hooks, ok := conn.(sqlite.HookRegisterer)
		if !ok {
			return errors.New("the driver does not tell of commits")
		}
		hooks.RegisterCommitHook(func() int32 {
			sqliteCommits.Add(1)
			return 0
		})
		return nil
	})
}
