package sqlledger_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// A read may be left while it waits for a connection. Once it has one, its
// context cannot end where readers wait for nobody, which spares the driver to
// watch it, and only there.
func TestReadsAreLeftWhileTheyWaitForAConnection(t *testing.T) {
	for mode, endless := range map[string]bool{"wal": true, "delete": false} {
		synctest.Test(t, func(t *testing.T) {
			f := &file{mode: mode}
			db := sql.OpenDB(f)
			defer db.Close()
			db.SetMaxOpenConns(1)
			l, err := sqlledger.New(t.Context(), db, sqlledger.EngineSQLite, &statements{
				read: func(ctx context.Context, db sqlledger.DBTX) (row sqlledger.ReadRow, err error) {
					return row, db.QueryRowContext(ctx, "SELECT", "alice", int64(7)).Scan(&row.Status)
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			left := make(chan error)
			go func() {
				_, _, err := l.Read(ctx, claimOf("owner").ID)
				left <- err
			}()
			synctest.Wait()
			cancel()
			if err := <-left; !errors.Is(err, context.Canceled) || !errors.Is(err, runtime.ErrUnavailable) {
				t.Errorf("%s: a read that was left says %v", mode, err)
			}
			conn.Close()
			if _, found, err := l.Read(t.Context(), claimOf("owner").ID); found || err != nil {
				t.Errorf("%s: Read = %v, %v", mode, found, err)
			}
			if !slices.Equal(f.ended, []bool{!endless}) || !slices.Equal(f.args, []driver.Value{"alice", int64(7)}) {
				t.Errorf("%s: the driver was asked with %v, under contexts that can end: %v", mode, f.args, f.ended)
			}
		})
	}
}
