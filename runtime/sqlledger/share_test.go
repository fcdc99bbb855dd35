package sqlledger_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// fullDisk is a transaction that cannot be committed.
type fullDisk struct{ commits int }

func (d *fullDisk) Commit() error   { d.commits++; return errors.New("database or disk is full") }
func (d *fullDisk) Rollback() error { return nil }

// Writes whose shared commit failed are made again, each by itself: nobody is
// told that a write stands which does not.
func TestSharedCommitThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, calls := make(chan struct{}), atomic.Int64{}
		disk := &fullDisk{}
		l, err := sqlledger.New(t.Context(), stubDB(t, &stub{tx: disk}), sqlledger.EngineSQLite, &statements{
			insert: func(context.Context, sqlledger.DBTX) (sqlledger.Claimed, error) {
				if calls.Add(1) == 1 {
					<-first // what comes meanwhile shares a commit
				}
				return stood, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, won, err := l.Insert(t.Context(), claimOf("owner")); !won || err != nil {
					t.Errorf("Insert = %v, %v", won, err)
				}
			})
			synctest.Wait()
		}
		close(first)
		wg.Wait()
		if disk.commits != 1 || calls.Load() != 5 {
			t.Errorf("%d shared commits, %d statements; want 1, and 5: one alone, two together, and the two again", disk.commits, calls.Load())
		}
	})
}
