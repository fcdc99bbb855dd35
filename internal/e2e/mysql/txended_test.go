package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/idemgen/idemgen/runtime"
)

// effects creates the tables of handlers' effects.
func effects(t testing.TB, db *sql.DB) {
	t.Helper()
	for _, statement := range []string{
		"CREATE TABLE effects (name VARCHAR(100) NOT NULL PRIMARY KEY)",
		"INSERT INTO effects VALUES ('left'), ('right')",
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
}

func count(t testing.TB, db *sql.DB, name string) (n int) {
	t.Helper()
	if err := db.QueryRow("SELECT COUNT(*) FROM effects WHERE name = ?", name).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// deadlock makes a transaction the victim of a deadlock, which rolls it back
// whole: the other transaction has changed more.
func deadlock(t testing.TB, db *sql.DB, tx *sql.Tx) error {
	t.Helper()
	other, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback()
	for _, name := range []string{"heavy 1", "heavy 2", "heavy 3", "heavy 4", "heavy 5"} {
		if _, err := other.Exec("INSERT INTO effects VALUES (?)", name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := other.Exec("UPDATE effects SET name = name WHERE name = 'right'"); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec("SELECT name FROM effects WHERE name = 'right' FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("SELECT name FROM effects WHERE name = 'left' FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := other.Exec("SELECT name FROM effects WHERE name = 'left' FOR UPDATE")
		done <- err
	}()
	_, err = tx.Exec("SELECT name FROM effects WHERE name = 'right' FOR UPDATE")
	if err == nil {
		t.Fatal("there was no deadlock")
	}
	if other := <-done; other != nil {
		t.Fatalf("the other transaction was the victim: %v", other)
	}
	return err
}

// A statement of DDL commits what came before it.
func TestDDLEndsATransaction(t *testing.T) {
	l, db := newLedger(t, 0)
	effects(t, db)
	for _, statement := range []string{"CREATE TABLE made (id INT)", "TRUNCATE TABLE made", "ALTER TABLE made ADD other INT", "DROP TABLE made"} {
		for _, complete := range []bool{true, false} {
			if _, err := db.Exec("CREATE TABLE IF NOT EXISTS made (id INT)"); err != nil {
				t.Fatal(err)
			}
			if statement == "CREATE TABLE made (id INT)" {
				if _, err := db.Exec("DROP TABLE made"); err != nil {
					t.Fatal(err)
				}
			}
			key := statement
			f := insert(t, l, key)
			tx, held, err := l.Begin(t.Context(), f, lease)
			if err != nil || !held {
				t.Fatal(held, err)
			}
			if _, err := tx.Handle().Exec(statement); err != nil {
				t.Fatal(err)
			}
			if complete {
				if stands, err := tx.Complete(t.Context(), completion(f, nil)); stands || !errors.Is(err, runtime.ErrTxEnded) {
					t.Errorf("Complete after %s = %v, %v; want ErrTxEnded", statement, stands, err)
				}
			}
			if err := tx.Rollback(t.Context()); !errors.Is(err, runtime.ErrTxEnded) {
				t.Errorf("Rollback after %s: %v; want ErrTxEnded", statement, err)
			}
			if row := read(t, l, key); row.Completed {
				t.Errorf("after %s the row is %+v", statement, row)
			}
			if held, err := l.Release(t.Context(), f); err != nil || !held {
				t.Error(held, err)
			}
			if _, err := db.Exec("DROP TABLE IF EXISTS made"); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A deadlock as the last thing that happened leaves nothing behind.
func TestDeadlockAtTheEndIsARollback(t *testing.T) {
	for _, options := range [][]string{nil, {"interpolateParams=true"}} {
		l, db := newLedger(t, 0, options...)
		effects(t, db)
		f := insert(t, l, "k")
		tx, held, err := l.Begin(t.Context(), f, lease)
		if err != nil || !held {
			t.Fatal(held, err)
		}
		if _, err := tx.Handle().Exec("INSERT INTO effects VALUES ('mine')"); err != nil {
			t.Fatal(err)
		}
		if err := deadlock(t, db, tx.Handle()); !tx.(runtime.ConflictTeller).Conflict(t.Context(), err) {
			t.Errorf("a deadlock is no conflict: %v", err)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Errorf("Rollback after a deadlock: %v", err)
		}
		if count(t, db, "mine") != 0 {
			t.Error("the effect stands")
		}
		if held, err := l.Release(t.Context(), f); err != nil || !held {
			t.Error(held, err)
		}
	}
}

// After a deadlock statements autocommit: one that followed may stand.
func TestStatementsAfterADeadlockAreNoticed(t *testing.T) {
	l, db := newLedger(t, 0)
	effects(t, db)
	for _, complete := range []bool{true, false} {
		name := map[bool]string{true: "completed", false: "rolled back"}[complete]
		f := insert(t, l, name)
		tx, held, err := l.Begin(t.Context(), f, lease)
		if err != nil || !held {
			t.Fatal(held, err)
		}
		deadlock(t, db, tx.Handle())
		if _, err := tx.Handle().Exec("INSERT INTO effects VALUES (?)", name); err != nil {
			t.Fatal(err)
		}
		if complete {
			if stands, err := tx.Complete(t.Context(), completion(f, nil)); stands || !errors.Is(err, runtime.ErrTxEnded) {
				t.Errorf("Complete = %v, %v; want ErrTxEnded", stands, err)
			}
		}
		if err := tx.Rollback(t.Context()); !errors.Is(err, runtime.ErrTxEnded) {
			t.Errorf("Rollback: %v; want ErrTxEnded", err)
		}
		if count(t, db, name) != 1 {
			t.Error("the effect does not stand, so the case shows nothing")
		}
		if row := read(t, l, name); row.Completed {
			t.Errorf("the row is %+v", row)
		}
	}
}

// A handler that returns the error of a deadlock is answered with an
// invitation to retry, and the retry runs.
func TestDeadlockOfAHandlerInvitesARetry(t *testing.T) {
	l, db := newLedger(t, 0)
	effects(t, db)
	g := newGuard(t, newEngine(t, l), func(p *runtime.Policy) { p.Failure = runtime.FailureStore })
	runs := 0
	work := func(_ context.Context, tx *sql.Tx) (runtime.Answer, error) {
		runs++
		if _, err := tx.Exec("INSERT INTO effects VALUES ('mine')"); err != nil {
			return runtime.Answer{}, err
		}
		if runs == 1 {
			return runtime.Answer{}, deadlock(t, db, tx)
		}
		return runtime.Answer{Status: 201}, nil
	}
	result, err := runtime.DoTx(t.Context(), g, l, call("k"), work)
	if result.Answer.Status != 503 && status(result, err) != 503 {
		t.Errorf("the first attempt got %+v, %v; want 503", result, err)
	}
	result, err = runtime.DoTx(t.Context(), g, l, call("k"), work)
	if status(result, err) != 201 || runs != 2 || count(t, db, "mine") != 1 {
		t.Errorf("the retry got %+v, %v after %d runs", result, err, runs)
	}
}

// The same error is a conflict of the transaction that met it, and none of
// another one, also where it left the transaction as it was.
func TestConflictIsOfTheTransactionThatMetIt(t *testing.T) {
	l, db := newLedger(t, 0)
	effects(t, db)
	conflict := func(tx runtime.Tx[*sql.Tx], err error) bool {
		return tx.(runtime.ConflictTeller).Conflict(t.Context(), err)
	}
	begin := func(key string) (runtime.Tx[*sql.Tx], runtime.Fence) {
		f := insert(t, l, key)
		tx, held, err := l.Begin(t.Context(), f, lease)
		if err != nil || !held {
			t.Fatal(held, err)
		}
		return tx, f
	}
	met, _ := begin("met")
	refused := deadlock(t, db, met.Handle())
	healthy, f := begin("healthy")
	if !conflict(met, refused) || conflict(healthy, refused) {
		t.Errorf("%v: of the one that met it %v, of another %v", refused, conflict(met, refused), conflict(healthy, refused))
	}
	if err := met.Rollback(t.Context()); err != nil {
		t.Error(err)
	}

	holder, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Rollback()
	if _, err := holder.Exec("SELECT * FROM effects WHERE name = 'left' FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	waiting, _ := begin("waiting")
	if _, err := waiting.Handle().Exec("SET innodb_lock_wait_timeout = 1"); err != nil {
		t.Fatal(err)
	}
	_, refused = waiting.Handle().Exec("SELECT * FROM effects WHERE name = ? FOR UPDATE", "left")
	if refused == nil || !conflict(waiting, refused) || conflict(healthy, refused) {
		t.Errorf("%v: of the one that met it %v, of another %v", refused, conflict(waiting, refused), conflict(healthy, refused))
	}
	if err := waiting.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	if stands, err := healthy.Complete(t.Context(), completion(f, []byte("answer"))); err != nil || !stands {
		t.Fatal(stands, err)
	}
	if err := healthy.Commit(t.Context()); err != nil {
		t.Error(err)
	}
}

// A payment service that closes its connection is no conflict of ours: under
// store the failure is the answer, and the charge is made once.
func TestErrorOfAPeerIsStored(t *testing.T) {
	l, db := newLedger(t, 0)
	effects(t, db)
	g := newGuard(t, newEngine(t, l), func(p *runtime.Policy) { p.Failure, p.Retry = runtime.FailureStore, 2 })
	charges := 0
	for i := range 2 {
		result, err := runtime.DoTx(t.Context(), g, l, call("k"), func(_ context.Context, tx *sql.Tx) (runtime.Answer, error) {
			charges++
			_, err := tx.Exec("INSERT INTO effects VALUES ('mine')")
			return runtime.Answer{}, errors.Join(err, fmt.Errorf("charge: %w", io.EOF))
		})
		if err != nil || result.Answer.Status != 500 || result.Replayed != (i == 1) {
			t.Errorf("%+v, %v", result, err)
		}
	}
	if charges != 1 || count(t, db, "mine") != 0 {
		t.Errorf("%d charges, %d effects", charges, count(t, db, "mine"))
	}
}

// A duplicate that is held up by no one: whichever transaction holds the row's
// shared lock may complete beside inserts of the same key.
func TestCompletionBesideDuplicates(t *testing.T) {
	l, db := newLedger(t, 0)
	effects(t, db)
	for round := range 20 {
		key := string(rune('a' + round))
		f := insert(t, l, key)
		together(20, func(i int) {
			if i > 0 {
				if _, won, err := l.Insert(context.Background(), newClaim(key)); won || err != nil {
					t.Errorf("insert of a duplicate: %v, %v", won, err)
				}
				return
			}
			tx, held, err := l.Begin(context.Background(), f, lease)
			if err != nil || !held {
				t.Errorf("begin: %v, %v", held, err)
				return
			}
			if _, err := tx.Handle().Exec("INSERT INTO effects VALUES (?)", key); err != nil {
				t.Error(err)
			}
			if stands, err := tx.Complete(context.Background(), completion(f, []byte("answer"))); err != nil || !stands {
				t.Errorf("complete: %v, %v", stands, err)
			}
			if err := tx.Commit(context.Background()); err != nil {
				t.Error(err)
			}
		})
		if !read(t, l, key).Completed || count(t, db, key) != 1 {
			t.Fatal("the effect or the answer is missing")
		}
	}
}
