package sqlledger_test

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// Statements are prepared once, whether they run alone or in shared commits,
// and those of a shared commit that cannot wait are not watched by the driver.
func TestStatementsArePreparedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &file{}
		db := sql.OpenDB(f)
		defer db.Close()
		db.SetMaxOpenConns(1)
		var block chan struct{} // of the next write, which is alone
		l, err := sqlledger.New(t.Context(), db, sqlledger.EngineSQLite, &statements{
			insert: func(ctx context.Context, db sqlledger.DBTX) (sqlledger.Claimed, error) {
				query := "SHARED"
				if b := block; b != nil {
					query, block = "ALONE", nil
					<-b // what comes meanwhile shares a commit
				}
				_, err := db.ExecContext(ctx, query)
				return stood, err
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		// The first shared commit meets a statement that nobody has prepared: its
		// transaction has the only connection and prepares it for itself.
		for round, want := range [][]string{{"ALONE", "SHARED"}, {"SHARED"}, nil, nil} {
			f.prepared, f.ended = nil, nil
			first := make(chan struct{})
			block = first
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					if _, won, err := l.Insert(t.Context(), claimOf("owner")); !won || err != nil {
						t.Errorf("Insert = %v, %v", won, err)
					}
				})
				synctest.Wait()
			}
			close(first)
			wg.Wait()
			if !slices.Equal(f.prepared, want) {
				t.Errorf("round %d prepared %q, want %q", round, f.prepared, want)
			}
			if want := []bool{true, true, false, false}; !slices.Equal(f.ended, want) {
				t.Errorf("round %d: contexts that can end: %v, want %v: those of the lone statement, and of the first that shares a commit", round, f.ended, want)
			}
		}
	})
}
