package mysql_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// While a handler's transaction is open, duplicates are answered from its row:
// neither the insert nor the read of another request waits for it. That this
// test ends, with the transaction still open, shows it; the server's own limit
// is taken away.
func TestDuplicatesDoNotWaitForATransaction(t *testing.T) {
	for _, isolation := range []string{"REPEATABLE-READ", "SERIALIZABLE", "READ-COMMITTED"} {
		t.Run(isolation, func(t *testing.T) {
			l, _ := newLedger(t, 0, "tx_isolation='"+isolation+"'", "innodb_lock_wait_timeout=100000000")
			g := newGuard(t, newEngine(t, l), nil)
			f := insertFor(t, l, "k")
			tx, held, err := l.Begin(t.Context(), f, lease)
			if err != nil || !held {
				t.Fatal(held, err)
			}
			if _, won, err := l.Insert(t.Context(), newClaim("k")); won || err != nil {
				t.Errorf("Insert beside a transaction = %v, %v; want it lost", won, err)
			}
			if row := read(t, l, "k"); row.Completed || row.Owner != f.Owner {
				t.Errorf("beside a transaction, the row is %+v", row)
			}
			for range 3 {
				result, err := g.Do(t.Context(), call("k"), func(context.Context) (runtime.Answer, error) {
					return runtime.Answer{}, errors.New("ran beside the owner")
				})
				if status(result, err) != 409 {
					t.Errorf("a duplicate got %+v, %v; want 409", result, err)
				}
			}
			if stands, err := tx.Complete(t.Context(), completion(f, []byte("answer"))); err != nil || !stands {
				t.Fatal(stands, err)
			}
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if row := read(t, l, "k"); !row.Completed {
				t.Errorf("the row is %+v", row)
			}
		})
	}
}

// A takeover of a row that a transaction holds is refused within the ledger's
// limit, by itself and not by the server's limit; then the transaction completes.
func TestTakeoverOfARowInATransaction(t *testing.T) {
	l, _ := newLedger(t, 0, "innodb_lock_wait_timeout=100000000")
	f := insert(t, l, "k")
	if held, err := l.EndLease(t.Context(), f); err != nil || !held {
		t.Fatal(held, err)
	}
	tx, held, err := l.Begin(t.Context(), f, lease)
	if err != nil || !held {
		t.Fatal(held, err)
	}
	if _, won, err := l.TakeOver(t.Context(), f, newClaim("k")); won || !errors.Is(err, runtime.ErrRowLocked) {
		t.Errorf("TakeOver of a row in a transaction = %v, %v; want ErrRowLocked", won, err)
	}
	// The owner's own writes wait for its transaction, no longer than they may.
	limited, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for name, write := range map[string]func() (bool, error){
		"Complete": func() (bool, error) { return l.Complete(limited, completion(f, nil)) },
		"Release":  func() (bool, error) { return l.Release(limited, f) },
		"EndLease": func() (bool, error) { return l.EndLease(limited, f) },
	} {
		if held, err := write(); held || !errors.Is(err, runtime.ErrUnavailable) && !errors.Is(err, runtime.ErrRowLocked) {
			t.Errorf("%s of a row in a transaction = %v, %v; want an error that passes", name, held, err)
		}
	}
	if stands, err := tx.Complete(t.Context(), completion(f, []byte("answer"))); err != nil || !stands {
		t.Fatal(stands, err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, won, err := l.TakeOver(t.Context(), f, newClaim("k")); won || err != nil {
		t.Errorf("TakeOver of a completed row = %v, %v", won, err)
	}
}

// The clock of a statement is its own, however long its transaction has been
// open.
func TestLateCompletionCountsFromItself(t *testing.T) {
	l, db := newLedger(t, 0)
	f := insert(t, l, "k")
	tx, held, err := l.Begin(t.Context(), f, lease)
	if err != nil || !held {
		t.Fatal(held, err)
	}
	// The transaction's snapshot is old by now.
	if _, err := tx.Handle().Exec("SELECT COUNT(*) FROM idempotency_keys"); err != nil {
		t.Fatal(err)
	}
	now := func() (ms int64) {
		if err := db.QueryRow("SELECT UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000").Scan(&ms); err != nil {
			t.Fatal(err)
		}
		return ms
	}
	begun := now()
	for now() < begun+20 {
		time.Sleep(time.Millisecond)
	}
	late := now()
	if stands, err := tx.Complete(t.Context(), completion(f, []byte("answer"))); err != nil || !stands {
		t.Fatal(stands, err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if row := read(t, l, "k"); row.ExpiresAt-retain.Milliseconds() < late {
		t.Errorf("retention counts from %d; completed at %d or later", row.ExpiresAt-retain.Milliseconds(), late)
	}
}
