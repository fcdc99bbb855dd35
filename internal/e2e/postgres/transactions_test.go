package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemgen/idemgen/internal/e2e/rig"
	"github.com/idemgen/idemgen/runtime"
)

// tx is a handler's transaction through either driver.
type tx struct {
	runtime.Tx[handle]
}

// handle is what a test asks of a handler's transaction.
type handle struct {
	exec  func(ctx context.Context, statement string) error
	query func(ctx context.Context, statement string) (string, error)
}

// begin opens a handler's transaction, which the ledger must give.
func begin(t testing.TB, l ledger, f runtime.Fence) tx {
	t.Helper()
	opened, held, err := tryBegin(l, f)
	if err != nil || !held {
		t.Fatalf("Begin(%q) = %v, %v", f.Key, held, err)
	}
	return opened
}

func tryBegin(l ledger, f runtime.Fence) (tx, bool, error) {
	if native, ok := l.(runtime.TxLedger[pgx.Tx]); ok {
		opened, held, err := native.Begin(context.Background(), f, rig.Lease)
		return tx{nativeTx{opened}}, held, err
	}
	opened, held, err := l.(runtime.TxLedger[sqlTx]).Begin(context.Background(), f, rig.Lease)
	return tx{standardTx{opened}}, held, err
}

type nativeTx struct{ runtime.Tx[pgx.Tx] }

func (n nativeTx) Handle() handle {
	return handle{
		func(ctx context.Context, statement string) error {
			_, err := n.Tx.Handle().Exec(ctx, statement)
			return err
		},
		func(ctx context.Context, statement string) (text string, err error) {
			return text, n.Tx.Handle().QueryRow(ctx, statement).Scan(&text)
		},
	}
}

type standardTx struct{ runtime.Tx[sqlTx] }

func (s standardTx) Handle() handle {
	return handle{
		func(ctx context.Context, statement string) error {
			_, err := s.Tx.Handle().ExecContext(ctx, statement)
			return err
		},
		func(ctx context.Context, statement string) (text string, err error) {
			return text, s.Tx.Handle().QueryRowContext(ctx, statement).Scan(&text)
		},
	}
}

// ask asks a handler's transaction for one value.
func (x tx) ask(t testing.TB, statement string) string {
	t.Helper()
	text, err := x.Handle().query(t.Context(), statement)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return text
}

func (x tx) finish(t testing.TB, f runtime.Fence) {
	t.Helper()
	if stands, err := x.Complete(t.Context(), rig.Completion(f, []byte("answer"))); err != nil || !stands {
		t.Fatalf("Complete = %v, %v", stands, err)
	}
	if err := x.Commit(t.Context()); err != nil {
		t.Fatalf("Commit: %v", err)
	}
}

// A handler's statements have the session's settings: the ledger's own lock
// limit is taken back, also before what COMMIT runs; the isolation level is
// the session's.
func TestHandlersKeepTheirSettings(t *testing.T) {
	eachIsolation(t, func(t *testing.T, d driver, database string) {
		l := d.open(t, server.DSN(database, "lock_timeout=17s"), 1)
		f := rig.Insert(t, l, "k")
		x := begin(t, l, f)
		if got := x.ask(t, "SELECT current_setting('lock_timeout')"); got != "17s" {
			t.Errorf("a handler's lock_timeout is %s; want 17s", got)
		}
		want := x.ask(t, "SELECT current_setting('default_transaction_isolation')")
		if got := x.ask(t, "SELECT current_setting('transaction_isolation')"); got != want {
			t.Errorf("a handler's isolation is %s; want %s", got, want)
		}
		if got := x.ask(t, "SELECT current_setting('idle_in_transaction_session_timeout')"); got != fmt.Sprintf("%dh", rig.Lease/time.Hour) {
			t.Errorf("a handler's idle timeout is %s; want the lease, %v", got, rig.Lease)
		}
		if stands, err := x.Complete(t.Context(), rig.Completion(f, []byte("answer"))); err != nil || !stands {
			t.Fatal(stands, err)
		}
		if got := x.ask(t, "SELECT current_setting('lock_timeout')"); got != "17s" {
			t.Errorf("the lock_timeout at COMMIT is %s; want 17s", got)
		}
		if err := x.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		// The pool's only connection has kept nothing.
		f = rig.Insert(t, l, "next")
		x = begin(t, l, f)
		if got := x.ask(t, "SELECT current_setting('lock_timeout')"); got != "17s" {
			t.Errorf("in the next transaction the lock_timeout is %s; want 17s", got)
		}
		if err := x.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// Handlers of neighbouring keys at once: under SERIALIZABLE the ledger's own
// statements give PostgreSQL no reason to fail one of them.
func TestHandlersOfNeighboursDoNotFailEachOther(t *testing.T) {
	const handlers, rounds = 16, 10
	eachIsolation(t, func(t *testing.T, d driver, database string) {
		l := d.open(t, server.DSN(database), 0)
		if err := server.Run(database, "CREATE TABLE orders (id text)"); err != nil {
			t.Fatal(err)
		}
		for round := range rounds {
			fences := make([]runtime.Fence, handlers)
			for i := range fences {
				fences[i] = rig.Insert(t, l, fmt.Sprintf("%d-%d", round, i))
			}
			open := make([]tx, handlers)
			rig.Together(handlers, func(i int) {
				var held bool
				var err error
				if open[i], held, err = tryBegin(l, fences[i]); err != nil || !held {
					t.Errorf("begin: %v, %v", held, err)
				}
			})
			if t.Failed() {
				return
			}
			rig.Together(handlers, func(i int) {
				if err := open[i].Handle().exec(context.Background(), fmt.Sprintf("INSERT INTO orders VALUES ('%d')", i)); err != nil {
					t.Errorf("effect: %v", err)
				}
				if stands, err := open[i].Complete(context.Background(), rig.Completion(fences[i], []byte("answer"))); err != nil || !stands {
					t.Errorf("complete: %v, %v", stands, err)
				}
				if err := open[i].Commit(context.Background()); err != nil {
					t.Errorf("commit: %v", err)
				}
			})
		}
	})
}

// While a handler's transaction is open, duplicates are answered from its row
// without a wait: that this test ends shows it.
func TestDuplicatesDoNotWaitForATransaction(t *testing.T) {
	eachIsolation(t, func(t *testing.T, d driver, database string) {
		l := d.open(t, server.DSN(database, "lock_timeout=0"), 0)
		g := rig.NewGuard(t, rig.NewEngine(t, l), nil)
		f := rig.InsertFor(t, l, "k")
		x := begin(t, l, f)
		if _, won, err := l.Insert(t.Context(), rig.NewClaim("k")); won || err != nil {
			t.Errorf("Insert beside a transaction = %v, %v; want it lost", won, err)
		}
		for range 3 {
			result, err := g.Do(t.Context(), rig.Call("k"), func(context.Context) (runtime.Answer, error) {
				return runtime.Answer{}, errors.New("ran beside the owner")
			})
			if rig.Status(result, err) != 409 {
				t.Errorf("a duplicate got %+v, %v; want 409", result, err)
			}
		}
		x.finish(t, f)
		if row := rig.Read(t, l, "k"); !row.Completed {
			t.Errorf("the row is %+v", row)
		}
	})
}

// What needs a row that a transaction holds is refused within the ledger's
// limit, and a takeover is a 409; then the transaction completes.
func TestWritesOfARowInATransaction(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		l := d.open(t, server.DSN(create(t), "lock_timeout=0"), 0)
		g := rig.NewGuard(t, rig.NewEngine(t, l), nil)
		f := rig.InsertFor(t, l, "k")
		if held, err := l.EndLease(t.Context(), f); err != nil || !held {
			t.Fatal(held, err)
		}
		x := begin(t, l, f)
		writes := map[string]func() (bool, error){
			"TakeOver": func() (bool, error) { _, won, err := l.TakeOver(t.Context(), f, rig.NewClaim("k")); return won, err },
			"Complete": func() (bool, error) { return l.Complete(t.Context(), rig.Completion(f, []byte{})) },
			"Release":  func() (bool, error) { return l.Release(t.Context(), f) },
			"EndLease": func() (bool, error) { return l.EndLease(t.Context(), f) },
			"Begin":    func() (bool, error) { _, held, err := tryBegin(l, f); return held, err },
		}
		names := make(chan string, len(writes))
		for name := range writes {
			names <- name
		}
		rig.Together(len(writes)+1, func(i int) {
			if i == len(writes) {
				result, err := g.Do(context.Background(), rig.Call("k"), nil)
				if rig.Status(result, err) != 409 {
					t.Errorf("a request that would take over got %+v, %v; want 409", result, err)
				}
				return
			}
			name := <-names
			if held, err := writes[name](); held || !errors.Is(err, runtime.ErrRowLocked) {
				t.Errorf("%s of a row in a transaction = %v, %v; want ErrRowLocked", name, held, err)
			}
		})
		x.finish(t, f)
		if _, won, err := l.TakeOver(t.Context(), f, rig.NewClaim("k")); won || err != nil {
			t.Errorf("TakeOver of a completed row = %v, %v", won, err)
		}
	})
}

// A statement of the handler that failed without the handler saying so makes
// the transaction one that can only be rolled back.
func TestHandlerThatPassesOverAFailure(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		l := d.open(t, server.DSN(create(t)), 1)
		f := rig.Insert(t, l, "k")
		x := begin(t, l, f)
		if err := x.Handle().exec(t.Context(), "SELECT 1 FROM no_such_table"); err == nil {
			t.Fatal("a table that is absent was read")
		}
		if stands, err := x.Complete(t.Context(), rig.Completion(f, []byte{})); stands || !errors.Is(err, runtime.ErrTxFailed) {
			t.Errorf("Complete = %v, %v; want ErrTxFailed", stands, err)
		}
		if err := x.Rollback(t.Context()); err != nil {
			t.Errorf("Rollback: %v", err)
		}
		x = begin(t, l, f)
		x.finish(t, f)
	})
}

// A handler that is paused for longer than its lease loses its transaction,
// which is no end behind the ledger's back: nothing of it stands.
func TestTransactionThatSatIdle(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		database := create(t)
		l := d.open(t, server.DSN(database), 0)
		f := rig.Insert(t, l, "k")
		x := begin(t, l, f)
		pid := x.ask(t, "SELECT pg_backend_pid()::text")
		if err := x.Handle().exec(t.Context(), "SET LOCAL idle_in_transaction_session_timeout = 1"); err != nil {
			t.Fatal(err)
		}
		db := openSQL(t, server.DSN(database), 1)
		await(t, func() bool {
			var sessions int
			if err := db.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE pid = $1::text::int", pid).Scan(&sessions); err != nil {
				t.Fatal(err)
			}
			return sessions == 0
		})
		if stands, err := x.Complete(t.Context(), rig.Completion(f, []byte{})); stands || !errors.Is(err, runtime.ErrUnavailable) {
			t.Errorf("Complete = %v, %v; want ErrUnavailable", stands, err)
		}
		if err := x.Rollback(t.Context()); errors.Is(err, runtime.ErrTxEnded) {
			t.Errorf("Rollback: %v", err)
		}
		x = begin(t, l, f)
		x.finish(t, f)
	})
}

// Every statement reads the clock for itself, however long its transaction has
// been open.
func TestLateClaimHasAFullLease(t *testing.T) {
	database := create(t)
	pool := openPool(t, server.DSN(database), 0)
	l := openNative(t, pool)
	begun, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer begun.Rollback(context.Background())
	now := func() (ms int64) {
		if err := begun.QueryRow(t.Context(), "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint").Scan(&ms); err != nil {
			t.Fatal(err)
		}
		return ms
	}
	early := now()
	await(t, func() bool { return now() >= early+20 })
	late := now()
	c := rig.NewClaim("k")
	claimed, err := insertIn(t.Context(), begun, c)
	if err != nil || claimed.LeaseUntil-rig.Lease.Milliseconds() < late || claimed.ClaimedAt < late {
		t.Errorf("claimed %+v, %v at %d or later", claimed, err, late)
	}
	if err := begun.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if row := rig.Read(t, l, "k"); row.Owner != c.Owner {
		t.Errorf("the row is %+v", row)
	}
}

// await waits until something is so.
func await(t testing.TB, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("what was waited for does not happen")
		}
	}
}
