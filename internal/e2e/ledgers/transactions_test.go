package ledgers_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/idemgen/idemgen/internal/e2e/ledgers/emitted/plain"
	"github.com/idemgen/idemgen/internal/e2e/ledgers/harness"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// shop is a ledger beside a service's own tables.
type shop struct {
	*testing.T
	ledger *sqlledger.Ledger
	db     *sql.DB
}

// everyDriver runs a test on a new file through each driver of this package,
// with shared commits and without.
func everyDriver(t *testing.T, test func(*shop)) {
	for _, driverName := range []string{modernc, mattn} {
		t.Run(driverName, func(t *testing.T) {
			eachWay(t, func(t *testing.T, shared sqlledger.Option) {
				p := harness.File(t, driverName, filepath.Join(t.TempDir(), "ledger.db"))
				ledger, err := plain.Open(t.Context(), p.Writer, sqlledger.WithReader(p.Reader), shared)
				if err != nil {
					t.Fatal(err)
				}
				s := &shop{t, ledger, p.Writer}
				s.exec("CREATE TABLE customers (id INTEGER PRIMARY KEY)")
				s.exec("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers (id) DEFERRABLE INITIALLY DEFERRED)")
				test(s)
			})
		})
	}
}

func (s *shop) exec(statement string) {
	s.Helper()
	if _, err := s.db.Exec(statement); err != nil {
		s.Fatalf("%s: %v", statement, err)
	}
}

func (s *shop) claim(key string) runtime.Claim {
	c := runtime.Claim{ID: runtime.ID{Principal: "alice", Key: key}, Operation: "POST /orders", Policy: "1 raw"}
	c.Terms = runtime.Terms{Lease: time.Hour, Retain: 24 * time.Hour}
	copy(c.Owner[:], key)
	return c
}

func fenceOf(c runtime.Claim) runtime.Fence {
	return runtime.Fence{ID: c.ID, Generation: 1, Owner: c.Owner}
}

func answerOf(c runtime.Claim) runtime.Completion {
	return runtime.Completion{
		Fence: fenceOf(c), Terms: c.Terms,
		Answer: runtime.StoredAnswer{Status: 201, Headers: []byte{}, Body: []byte("order")},
	}
}

// begin claims a key and opens its transaction.
func (s *shop) begin(key string) (runtime.Claim, runtime.Tx[*sql.Tx]) {
	s.Helper()
	c := s.claim(key)
	if _, won, err := s.ledger.Insert(s.Context(), c); err != nil || !won {
		s.Fatalf("Insert = %v, %v", won, err)
	}
	tx, held, err := s.ledger.Begin(s.Context(), fenceOf(c), c.Lease)
	if err != nil || !held {
		s.Fatalf("Begin = %v, %v", held, err)
	}
	return c, tx
}

func (s *shop) wantOrders(want int) {
	s.Helper()
	var n int
	if err := s.db.QueryRow("SELECT count(*) FROM orders").Scan(&n); err != nil || n != want {
		s.Fatalf("%d orders, %v; want %d", n, err, want)
	}
}

func (s *shop) wantPending(c runtime.Claim) {
	s.Helper()
	row, found, err := s.ledger.Read(s.Context(), c.ID)
	if err != nil || !found || row.Completed || row.Owner != c.Owner {
		s.Fatalf("the row is %+v, %v, %v; want it pending", row, found, err)
	}
}

// wantWorking says that a whole request succeeds on the connection that is left.
func (s *shop) wantWorking() {
	s.Helper()
	c, tx := s.begin("working")
	if _, err := tx.Handle().Exec("INSERT INTO orders (id) VALUES (1000)"); err != nil {
		s.Fatal(err)
	}
	if stands, err := tx.Complete(s.Context(), answerOf(c)); err != nil || !stands {
		s.Fatalf("Complete = %v, %v", stands, err)
	}
	if err := tx.Commit(s.Context()); err != nil {
		s.Fatal(err)
	}
	s.exec("DELETE FROM orders WHERE id = 1000")
}

// OR ROLLBACK ends the transaction on a conflict, and SQLite goes on without.
func TestConflictThatRollsBack(t *testing.T) {
	everyDriver(t, func(s *shop) {
		s.exec("INSERT INTO orders (id) VALUES (1)")
		c, tx := s.begin("k")
		if _, err := tx.Handle().Exec("INSERT INTO orders (id) VALUES (2)"); err != nil {
			s.Fatal(err)
		}
		if _, err := tx.Handle().Exec("INSERT OR ROLLBACK INTO orders (id) VALUES (1)"); err == nil {
			s.Fatal("the order was taken twice")
		}
		if stands, err := tx.Complete(s.Context(), answerOf(c)); stands || !errors.Is(err, runtime.ErrTxEnded) {
			s.Fatalf("Complete = %v, %v; want ErrTxEnded", stands, err)
		}
		if err := tx.Rollback(s.Context()); !errors.Is(err, runtime.ErrTxEnded) {
			s.Fatalf("Rollback: %v; want ErrTxEnded", err)
		}
		s.wantOrders(1)
		s.wantPending(c)
		s.wantWorking()
	})
}

// SQLite keeps a transaction open whose COMMIT failed: on a pool of one
// connection it would swallow everything that follows.
func TestCommitThatFails(t *testing.T) {
	everyDriver(t, func(s *shop) {
		c, tx := s.begin("k")
		for _, statement := range []string{"PRAGMA defer_foreign_keys = 1", "INSERT INTO orders (id) VALUES (1)"} {
			if _, err := tx.Handle().Exec(statement); err != nil {
				s.Fatal(err)
			}
		}
		if stands, err := tx.Complete(s.Context(), answerOf(c)); err != nil || !stands {
			s.Fatalf("Complete = %v, %v", stands, err)
		}
		if err := tx.Commit(s.Context()); err != nil {
			s.Fatal(err)
		}
		s.wantOrders(1)

		s.exec("PRAGMA foreign_keys = 1")
		c, tx = s.begin("l")
		if _, err := tx.Handle().Exec("INSERT INTO orders (id, customer) VALUES (2, 77)"); err != nil {
			s.Fatal(err)
		}
		if stands, err := tx.Complete(s.Context(), answerOf(c)); err != nil || !stands {
			s.Fatalf("Complete = %v, %v", stands, err)
		}
		if err := tx.Commit(s.Context()); err == nil {
			s.Fatal("an order of no customer was committed")
		}
		s.wantOrders(1)
		s.wantPending(c)
		s.wantWorking()
	})
}

// A write that is interrupted rolls the whole transaction back; the statements
// after it would autocommit.
func TestInterruptedWrite(t *testing.T) {
	everyDriver(t, func(s *shop) {
		c, tx := s.begin("k")
		if _, err := tx.Handle().Exec("INSERT INTO orders (id) VALUES (1)"); err != nil {
			s.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(s.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := tx.Handle().ExecContext(ctx, `WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000)
			INSERT INTO orders (id) SELECT i FROM n`)
		if err == nil {
			s.Fatal("a thousand million orders were taken in an instant")
		}
		stands, err := tx.Complete(s.Context(), answerOf(c))
		if err == nil || stands {
			s.Fatalf("Complete after an interrupted write = %v, %v; want an error", stands, err)
		}
		if err := tx.Rollback(s.Context()); err == nil {
			s.Fatal("a rollback of nothing succeeded")
		}
		s.wantOrders(0)
		s.wantPending(c)
		s.wantWorking()
	})
}

// A lock on the whole database that does not come is an outage, in time.
func TestLockThatDoesNotCome(t *testing.T) {
	for _, driverName := range []string{modernc, mattn} {
		t.Run(driverName, func(t *testing.T) {
			eachWay(t, func(t *testing.T, shared sqlledger.Option) { lockThatDoesNotCome(t, driverName, shared) })
		})
	}
}

func lockThatDoesNotCome(t *testing.T, driverName string, shared sqlledger.Option) {
	file := filepath.Join(t.TempDir(), "ledger.db")
	p := harness.File(t, driverName, file)
	if _, err := plain.Open(t.Context(), p.Writer); err != nil {
		t.Fatal(err)
	}
	other := harness.File(t, driverName, file)
	// mattn/go-sqlite3 sits out SQLite's own wait, whatever its context says.
	if _, err := other.Writer.Exec("PRAGMA busy_timeout = 10"); err != nil {
		t.Fatal(err)
	}
	// The short limit is for calls that must run into it, and for no others.
	patient, err := plain.Open(t.Context(), other.Writer, sqlledger.WithReader(other.Reader), shared)
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := plain.Open(t.Context(), other.Writer, sqlledger.WithReader(other.Reader), shared, sqlledger.WithTimeLimit(500*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{t, patient, p.Writer}
	c := s.claim("k")
	if _, won, err := patient.Insert(t.Context(), c); err != nil || !won {
		t.Fatal(won, err)
	}
	s.exec("BEGIN IMMEDIATE")
	if _, won, err := ledger.Insert(t.Context(), s.claim("l")); won || !errors.Is(err, runtime.ErrUnavailable) {
		t.Errorf("Insert of a locked file = %v, %v; want ErrUnavailable", won, err)
	}
	if stands, err := ledger.Complete(t.Context(), answerOf(c)); stands || !errors.Is(err, runtime.ErrUnavailable) {
		t.Errorf("Complete in a locked file = %v, %v; want ErrUnavailable", stands, err)
	}
	if tx, held, err := ledger.Begin(t.Context(), fenceOf(c), c.Lease); held || !errors.Is(err, runtime.ErrUnavailable) {
		t.Errorf("Begin in a locked file = %v, %v, %v; want ErrUnavailable", tx, held, err)
	}
	s.wantPending(c)
	if n, err := patient.Sweep(t.Context(), 10); n != 0 || err != nil {
		t.Errorf("a sweep of nothing in a locked file = %d, %v; want no write, and so no wait", n, err)
	}
	s.exec("ROLLBACK")
	if stands, err := patient.Complete(t.Context(), answerOf(c)); !stands || err != nil {
		t.Errorf("Complete after the lock = %v, %v", stands, err)
	}
}

// A table that is not there may come back; an answer that the table does not
// take is refused for good. Both keep SQLite's text.
func TestWhatSQLiteRefuses(t *testing.T) {
	everyDriver(t, func(s *shop) {
		s.exec(`CREATE TRIGGER no_teapots BEFORE UPDATE ON idempotency_keys WHEN new.response_status = 418
			BEGIN INSERT INTO teapots VALUES (418); END`)
		s.exec("CREATE TABLE teapots (status INTEGER CHECK (status <> 418))")
		c := s.claim("k")
		if _, won, err := s.ledger.Insert(s.Context(), c); !won || err != nil {
			s.Fatal(won, err)
		}
		refused := answerOf(c)
		refused.Answer.Status = 418
		if stands, err := s.ledger.Complete(s.Context(), refused); stands || !errors.Is(err, runtime.ErrRefused) || !strings.Contains(err.Error(), "CHECK constraint failed") {
			s.Errorf("Complete with what the table does not take = %v, %v; want it refused", stands, err)
		}
		if stands, err := s.ledger.Complete(s.Context(), answerOf(c)); !stands || err != nil {
			s.Errorf("Complete with another answer = %v, %v", stands, err)
		}
		s.exec("DROP TABLE idempotency_keys")
		_, _, err := s.ledger.Insert(s.Context(), s.claim("l"))
		if !errors.Is(err, runtime.ErrUnavailable) || !strings.Contains(err.Error(), "no such table") {
			s.Errorf("Insert without a table: %v; want an error that may pass", err)
		}
	})
}
