package ledgers_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/ledgers/emitted/plain"
	"github.com/idemgen/idemgen/internal/e2e/ledgers/harness"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// faults makes the answers of statements get lost after the statements stood,
// once for each time it is asked to.
type faults struct {
	mu        sync.Mutex
	statement string // its beginning
	times     int
	lost      int
}

// lose loses the answers of the next statements that begin so.
func (f *faults) lose(statement string, times int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.statement, f.times, f.lost = statement, times, 0
}

func (f *faults) hits(query string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, text, _ := strings.Cut(query, "\n")
	if f.times == 0 || !strings.HasPrefix(query, f.statement) && !strings.HasPrefix(text, f.statement) {
		return false
	}
	f.times--
	f.lost++
	return true
}

// lossy is a connector to connections that lose answers.
type lossy struct {
	onConnect
	faults *faults
}

func (c lossy) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.onConnect.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &lossyConn{conn.(moderncConn), c.faults}, nil
}

// moderncConn is what the driver's connections can do.
type moderncConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
}

type lossyConn struct {
	moderncConn
	faults *faults
}

func (c *lossyConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := c.moderncConn.ExecContext(ctx, query, args)
	if err == nil && c.faults.hits(query) {
		return nil, driver.ErrBadConn
	}
	return result, err
}

func (c *lossyConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.moderncConn.QueryContext(ctx, query, args)
	if err == nil && c.faults.hits(query) {
		return nil, errors.Join(driver.ErrBadConn, drain(rows))
	}
	return rows, err
}

// PrepareContext gives statements that lose answers, too.
func (c *lossyConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	prepared, err := c.moderncConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return &lossyStmt{prepared.(moderncStmt), query, c.faults}, nil
}

// moderncStmt is what the driver's statements can do.
type moderncStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type lossyStmt struct {
	moderncStmt
	query  string
	faults *faults
}

func (s *lossyStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	result, err := s.moderncStmt.ExecContext(ctx, args)
	if err == nil && s.faults.hits(s.query) {
		return nil, driver.ErrBadConn
	}
	return result, err
}

func (s *lossyStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := s.moderncStmt.QueryContext(ctx, args)
	if err == nil && s.faults.hits(s.query) {
		return nil, errors.Join(driver.ErrBadConn, drain(rows))
	}
	return rows, err
}

// drain reads rows to their end: only then does a statement with RETURNING stand.
func drain(rows driver.Rows) error {
	values := make([]driver.Value, len(rows.Columns()))
	for rows.Next(values) == nil {
	}
	return rows.Close()
}

// eachWay runs a test with shared commits and without.
func eachWay(t *testing.T, test func(t *testing.T, shared sqlledger.Option)) {
	t.Run("shared", func(t *testing.T) { test(t, sqlledger.WithSharedCommits(true)) })
	t.Run("apart", func(t *testing.T) { test(t, sqlledger.WithSharedCommits(false)) })
}

// Each write stands although its answers were lost: once, which database/sql
// sends again by itself, and more often, which the ledger does.
func TestLostAnswers(t *testing.T) {
	eachWay(t, lostAnswers)
}

func lostAnswers(t *testing.T, shared sqlledger.Option) {
	const (
		insert, update, remove = "INSERT INTO", "UPDATE", "DELETE"
	)
	for _, times := range []int{1, 2, 3, 4, 7} {
		f := &faults{}
		db := sql.OpenDB(lossy{onConnect{driver: driverOf(t, modernc), dsn: moderncDSN(filepath.Join(t.TempDir(), "ledger.db"))}, f})
		s := &shop{T: t, db: harness.Own(t, db, 1).Writer}
		var err error
		if s.ledger, err = plain.Open(t.Context(), db, shared); err != nil {
			t.Fatal(err)
		}
		var retries []string
		s.ledger.NotifyRetry(func(_ context.Context, statement string, err error) {
			if !errors.Is(err, driver.ErrBadConn) {
				t.Errorf("%s was sent again after %v", statement, err)
			}
			retries = append(retries, statement)
		})
		lose := func(name, statement string, call func() (bool, error)) {
			t.Helper()
			f.lose(statement, times)
			retries = nil
			if stands, err := call(); err != nil || !stands {
				t.Errorf("%s whose answer was lost %d times = %v, %v; want it to stand", name, times, stands, err)
			}
			if f.lost != times {
				t.Errorf("%s lost %d answers; want %d", name, f.lost, times)
			}
			// database/sql sends three times before it gives up.
			if want := times / 3; len(retries) != want {
				t.Errorf("%s was sent again %d times by the ledger after %d losses; want %d", name, len(retries), times, want)
			}
		}
		c := s.claim("k")
		var claimed runtime.Claimed
		lose("Insert", insert, func() (won bool, err error) {
			claimed, won, err = s.ledger.Insert(t.Context(), c)
			return won, err
		})
		if claimed.Generation != 1 || claimed.LeaseUntil-claimed.Now != c.Lease.Milliseconds() {
			t.Errorf("claimed %+v", claimed)
		}
		lose("Renew", update, func() (bool, error) {
			_, held, err := s.ledger.Renew(t.Context(), fenceOf(c), c.Terms)
			return held, err
		})
		lose("EndLease", update, func() (bool, error) { return s.ledger.EndLease(t.Context(), fenceOf(c)) })
		next := s.claim("next")
		next.ID = c.ID
		lose("TakeOver", update, func() (won bool, err error) {
			claimed, won, err = s.ledger.TakeOver(t.Context(), fenceOf(c), next)
			return won, err
		})
		if claimed.Generation != 2 {
			t.Errorf("taken over %+v; want generation 2, once", claimed)
		}
		done := answerOf(next)
		done.Generation, done.Terms = 2, runtime.Terms{}
		lose("Complete", update, func() (bool, error) { return s.ledger.Complete(t.Context(), done) })
		again := s.claim("again")
		again.ID = c.ID
		lose("Reuse", update, func() (won bool, err error) {
			claimed, won, err = s.ledger.Reuse(t.Context(), done.Fence, again)
			return won, err
		})
		if claimed.Generation != 3 {
			t.Errorf("reused %+v; want generation 3, once", claimed)
		}
		// A release may find that it has happened, and then cannot tell who
		// did it. What counts is that the row is gone.
		f.lose(remove, times)
		if _, err := s.ledger.Release(t.Context(), runtime.Fence{ID: c.ID, Generation: 3, Owner: again.Owner}); err != nil {
			t.Error(err)
		}
		if row, found, err := s.ledger.Read(t.Context(), c.ID); found || err != nil {
			t.Errorf("after a release: %+v, %v, %v", row, found, err)
		}
	}
}

// A claim that another owner won stays lost, however often answers are lost.
func TestLostAnswersOfALostClaim(t *testing.T) {
	eachWay(t, lostAnswersOfALostClaim)
}

func lostAnswersOfALostClaim(t *testing.T, shared sqlledger.Option) {
	f := &faults{}
	db := sql.OpenDB(lossy{onConnect{driver: driverOf(t, modernc), dsn: moderncDSN(filepath.Join(t.TempDir(), "ledger.db"))}, f})
	s := &shop{T: t, db: harness.Own(t, db, 1).Writer}
	var err error
	if s.ledger, err = plain.Open(t.Context(), db, sqlledger.WithReader(db), shared); err != nil {
		t.Fatal(err)
	}
	c := s.claim("k")
	if _, won, err := s.ledger.Insert(t.Context(), c); !won || err != nil {
		t.Fatal(won, err)
	}
	other := s.claim("other")
	other.ID = c.ID
	f.lose("INSERT INTO", 5)
	if _, won, err := s.ledger.Insert(t.Context(), other); won || err != nil {
		t.Errorf("Insert = %v, %v; want it lost", won, err)
	}
	f.lose("UPDATE", 5)
	if _, won, err := s.ledger.TakeOver(t.Context(), fenceOf(c), other); won || err != nil {
		t.Errorf("TakeOver = %v, %v; want it lost", won, err)
	}
	f.lose("UPDATE", 5)
	done := answerOf(other)
	if stands, err := s.ledger.Complete(t.Context(), done); stands || err != nil {
		t.Errorf("Complete = %v, %v; want it fenced out", stands, err)
	}
	s.wantPending(c)
}
