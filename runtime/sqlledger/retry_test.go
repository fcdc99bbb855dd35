package sqlledger_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

var stood = sqlledger.Claimed{Generation: 1, ClaimedAt: 1000, LeaseUntil: 61_000}

// failing inserts fail so often, and then stand.
func failing(calls *int, times int, err error) func(context.Context, sqlledger.DBTX) (sqlledger.Claimed, error) {
	return func(context.Context, sqlledger.DBTX) (sqlledger.Claimed, error) {
		if *calls++; *calls <= times {
			return sqlledger.Claimed{}, err
		}
		return stood, nil
	}
}

func TestPassingErrorsAreRetried(t *testing.T) {
	for _, passing := range []error{
		errBusy,
		errors.New("sqlite3: database is locked"),
		errors.New("database table is locked: idempotency_keys"),
		errors.New("database schema is locked: main"),
		errors.New("sqlite3: locking protocol"),
		fmt.Errorf("begin: %w", errBusy),
		driver.ErrBadConn,
		fmt.Errorf("exec: %w", driver.ErrBadConn),
		fmt.Errorf("read: %w", &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}),
		io.ErrUnexpectedEOF,
	} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			l := open(t, &statements{insert: failing(&calls, 3, passing)})
			var told []string
			l.NotifyRetry(func(_ context.Context, statement string, err error) {
				if !errors.Is(err, passing) {
					t.Errorf("told of %v; want %v", err, passing)
				}
				told = append(told, statement)
			})
			claimed, won, err := l.Insert(t.Context(), claimOf("owner"))
			if err != nil || !won {
				t.Fatalf("Insert after %v = %v, %v", passing, won, err)
			}
			if want := (runtime.Claimed{Generation: 1, ClaimedAt: 1000, LeaseUntil: 61_000, Now: 1000}); claimed != want {
				t.Errorf("claimed %+v; want %+v", claimed, want)
			}
			if want := []string{"insert", "insert", "insert"}; calls != 4 || !slices.Equal(told, want) {
				t.Errorf("%d calls, told of %v; want 4 calls, told of %v", calls, told, want)
			}
		})
	}
}

func TestRetriesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		l := open(t, &statements{insert: failing(&calls, 1<<30, errBusy)}, sqlledger.WithTimeLimit(time.Hour))
		_, won, err := l.Insert(t.Context(), claimOf("owner"))
		if won || !errors.Is(err, runtime.ErrUnavailable) || !errors.Is(err, errBusy) {
			t.Errorf("Insert = %v, %v; want ErrUnavailable, and the reason", won, err)
		}
		if calls != 20 {
			t.Errorf("%d attempts; want 20", calls)
		}
	})
}

func TestRetriesEndAtTheTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		const limit = 30 * time.Millisecond
		l := open(t, &statements{insert: failing(&calls, 1<<30, errBusy)}, sqlledger.WithTimeLimit(limit))
		start := time.Now()
		_, won, err := l.Insert(t.Context(), claimOf("owner"))
		if won || !errors.Is(err, runtime.ErrUnavailable) || !errors.Is(err, errBusy) {
			t.Errorf("Insert = %v, %v; want ErrUnavailable, and the reason", won, err)
		}
		if took := time.Since(start); took > limit || calls < 2 {
			t.Errorf("%d attempts in %v; want several in at most %v", calls, took, limit)
		}
	})
}

// A statement that hangs is limited too, and not sent again after that.
func TestStatementThatHangs(t *testing.T) {
	for _, shared := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			l := open(t, &statements{insert: func(ctx context.Context, _ sqlledger.DBTX) (sqlledger.Claimed, error) {
				calls++
				<-ctx.Done()
				return sqlledger.Claimed{}, ctx.Err()
			}}, sqlledger.WithSharedCommits(shared))
			start := time.Now()
			_, won, err := l.Insert(t.Context(), claimOf("owner"))
			if won || !errors.Is(err, runtime.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Insert = %v, %v; want ErrUnavailable, and the reason", won, err)
			}
			if took := time.Since(start); took != 5*time.Second || calls != 1 {
				t.Errorf("%d attempts in %v; want one in 5s, the default", calls, took)
			}
		})
	}
}

func TestReadThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, &statements{read: func(ctx context.Context, _ sqlledger.DBTX) (sqlledger.ReadRow, error) {
			<-ctx.Done()
			return sqlledger.ReadRow{}, ctx.Err()
		}})
		start := time.Now()
		_, found, err := l.Read(t.Context(), claimOf("owner").ID)
		if found || !errors.Is(err, runtime.ErrUnavailable) || time.Since(start) != 5*time.Second {
			t.Errorf("Read = %v, %v after %v; want ErrUnavailable after 5s, the default", found, err, time.Since(start))
		}
	})
}

func TestRetriesEndWithTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		l := open(t, &statements{insert: func(context.Context, sqlledger.DBTX) (sqlledger.Claimed, error) {
			calls++
			cancel()
			return sqlledger.Claimed{}, errBusy
		}})
		if _, won, err := l.Insert(ctx, claimOf("owner")); won || !errors.Is(err, runtime.ErrUnavailable) {
			t.Errorf("Insert = %v, %v; want ErrUnavailable", won, err)
		}
		if calls != 1 {
			t.Errorf("%d attempts; want one", calls)
		}
	})
}

// What is for good is told from what may pass, and what nobody knows may.
func TestOtherErrorsAreNotRetried(t *testing.T) {
	for _, c := range []struct {
		err         error
		unavailable bool
	}{
		{errFinal, false},
		{errors.New("NOT NULL constraint failed: idempotency_keys.owner"), false},
		{errors.New("datatype mismatch (20)"), false},
		{errors.New("no such table: idempotency_keys"), true},
		{errors.New("a token could not be had"), true},
		{errors.New("string or blob too big (18)"), false},
		{errDown, true},
		{errors.New("database or disk is full (13)"), true},
		{errors.New("unable to open database file (14)"), true},
		{errors.New("attempt to write a readonly database (8)"), true},
		{errors.New("sql: database is closed"), true},
		{errors.New("interrupted (9)"), true},
		{sql.ErrConnDone, true},
		{context.Canceled, true},
		{context.DeadlineExceeded, true},
		{temporary{errFinal}, false},
	} {
		calls := 0
		l := open(t, &statements{insert: failing(&calls, 1<<30, c.err)})
		l.NotifyRetry(func(_ context.Context, statement string, err error) {
			t.Errorf("%s was sent again after %v", statement, err)
		})
		_, won, err := l.Insert(t.Context(), claimOf("owner"))
		if won || !errors.Is(err, c.err) || errors.Is(err, runtime.ErrUnavailable) != c.unavailable || errors.Is(err, runtime.ErrRefused) == c.unavailable || errors.Is(err, runtime.ErrRowLocked) {
			t.Errorf("Insert = %v, %v; want it unavailable: %v", won, err, c.unavailable)
		}
		if calls != 1 {
			t.Errorf("%v: %d attempts; want one", c.err, calls)
		}
	}
}

// An error of a write that never had a connection is never final, whatever it
// says, and tells that nothing stands.
func TestErrorsBeforeAConnection(t *testing.T) {
	for _, failure := range []error{errFinal, errDown, errors.New("a token could not be had")} {
		calls := 0
		l := open(t, &statements{insert: failing(&calls, 1<<30, failure), unsent: true})
		_, won, err := l.Insert(t.Context(), claimOf("owner"))
		if won || !errors.Is(err, runtime.ErrNotSent) || !errors.Is(err, runtime.ErrUnavailable) || errors.Is(err, runtime.ErrRefused) {
			t.Errorf("Insert = %v, %v; want ErrNotSent and ErrUnavailable", won, err)
		}
	}
	sent := open(t, &statements{insert: failing(new(int), 1<<30, errDown)})
	if _, _, err := sent.Insert(t.Context(), claimOf("owner")); errors.Is(err, runtime.ErrNotSent) {
		t.Errorf("a claim that was sent: %v", err)
	}
}

// temporary is an error with the methods of net.Error, which all errors of
// ncruces/go-sqlite3 have.
type temporary struct{ error }

func (temporary) Timeout() bool   { return false }
func (temporary) Temporary() bool { return false }

// lost is a statement that stands on its first attempt and says otherwise.
func lost[T any](calls *int, then T, thenErr error) func(context.Context) (T, error) {
	return func(context.Context) (T, error) {
		if *calls++; *calls == 1 {
			var none T
			return none, driver.ErrBadConn
		}
		return then, thenErr
	}
}

func TestOwnTakeOverIsRecognised(t *testing.T) {
	mine, other := claimOf("mine"), claimOf("other")
	completed := rowOf(mine)
	completed.Status = "completed"
	for name, c := range map[string]struct {
		row  sqlledger.ReadRow
		err  error
		want bool
	}{
		"own row":           {rowOf(mine), nil, true},
		"own row completed": {completed, nil, false},
		"another's row":     {rowOf(other), nil, false},
		"no row":            {sqlledger.ReadRow{}, sql.ErrNoRows, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			l := open(t, &statements{
				takeOver: lost(&calls, sqlledger.Claimed{}, sql.ErrNoRows),
				read:     func(context.Context, sqlledger.DBTX) (sqlledger.ReadRow, error) { return c.row, c.err },
			})
			claimed, won, err := l.TakeOver(t.Context(), runtime.Fence{ID: mine.ID, Generation: 1, Owner: other.Owner}, mine)
			if won != c.want || err != nil {
				t.Errorf("%s: TakeOver = %v, %v; want %v", name, won, err, c.want)
			}
			want := runtime.Claimed{}
			if c.want {
				want = runtime.Claimed{Generation: 2, ClaimedAt: 1000, LeaseUntil: 61_000, Now: 1500}
			}
			if claimed != want || calls != 2 {
				t.Errorf("%s: claimed %+v after %d attempts; want %+v after 2", name, claimed, calls, want)
			}
		})
	}
}

// A claim whose recognition fails is neither won nor lost.
func TestTakeOverThatCannotBeRead(t *testing.T) {
	calls := 0
	l := open(t, &statements{
		takeOver: func(context.Context) (sqlledger.Claimed, error) { calls++; return sqlledger.Claimed{}, sql.ErrNoRows },
		read:     func(context.Context, sqlledger.DBTX) (sqlledger.ReadRow, error) { return sqlledger.ReadRow{}, errDown },
	})
	c := claimOf("mine")
	if _, won, err := l.TakeOver(t.Context(), runtime.Fence{ID: c.ID}, c); won || !errors.Is(err, runtime.ErrUnavailable) {
		t.Errorf("TakeOver = %v, %v; want ErrUnavailable", won, err)
	}
}

func TestOwnCompletionIsRecognised(t *testing.T) {
	mine, other := claimOf("mine"), claimOf("other")
	row := func(c runtime.Claim, status string, generation int64) sqlledger.ReadRow {
		r := rowOf(c)
		r.Status, r.Generation = status, generation
		return r
	}
	for name, c := range map[string]struct {
		row  sqlledger.ReadRow
		err  error
		want bool
	}{
		"own row completed":      {row(mine, "completed", 2), nil, true},
		"own row pending":        {row(mine, "pending", 2), nil, false},
		"another generation":     {row(mine, "completed", 3), nil, false},
		"another's row":          {row(other, "completed", 2), nil, false},
		"another's row, pending": {row(other, "pending", 2), nil, false},
		"no row":                 {sqlledger.ReadRow{}, sql.ErrNoRows, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			l := open(t, &statements{
				complete: lost[int64](&calls, 0, nil),
				read:     func(context.Context, sqlledger.DBTX) (sqlledger.ReadRow, error) { return c.row, c.err },
			})
			stands, err := l.Complete(t.Context(), runtime.Completion{Fence: runtime.Fence{ID: mine.ID, Generation: 2, Owner: mine.Owner}})
			if stands != c.want || err != nil {
				t.Errorf("%s: Complete = %v, %v; want %v", name, stands, err, c.want)
			}
		})
	}
}

func TestOwnReleaseIsRecognised(t *testing.T) {
	for name, c := range map[string]struct {
		row  sqlledger.ReadRow
		err  error
		want bool
	}{
		"no row left":   {sqlledger.ReadRow{}, sql.ErrNoRows, true},
		"another's row": {rowOf(claimOf("other")), nil, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			l := open(t, &statements{
				release: lost[int64](&calls, 0, nil),
				read:    func(context.Context, sqlledger.DBTX) (sqlledger.ReadRow, error) { return c.row, c.err },
			})
			mine := claimOf("mine")
			held, err := l.Release(t.Context(), runtime.Fence{ID: mine.ID, Generation: 1, Owner: mine.Owner})
			if held != c.want || err != nil {
				t.Errorf("%s: Release = %v, %v; want %v", name, held, err, c.want)
			}
		})
	}
}

func TestCorruptRow(t *testing.T) {
	row := rowOf(claimOf("owner"))
	row.Fingerprint = row.Fingerprint[:31]
	l := open(t, &statements{read: func(context.Context, sqlledger.DBTX) (sqlledger.ReadRow, error) { return row, nil }})
	if _, found, err := l.Read(t.Context(), claimOf("owner").ID); found || !errors.Is(err, runtime.ErrUnavailable) {
		t.Errorf("Read of a corrupt row = %v, %v; want an error, which an operator may mend", found, err)
	}
}

func TestSweepStatements(t *testing.T) {
	t.Run("nothing due", func(t *testing.T) {
		l := open(t, &statements{due: func(sqlledger.DBTX) (int64, error) { return 0, nil }})
		if n, err := l.Sweep(t.Context(), 10); n != 0 || err != nil {
			t.Errorf("Sweep = %d, %v; want no write", n, err)
		}
	})
	t.Run("no limit", func(t *testing.T) {
		l := open(t, &statements{})
		for _, limit := range []int{0, -1} {
			if n, err := l.Sweep(t.Context(), limit); n != 0 || err != nil {
				t.Errorf("Sweep(%d) = %d, %v; want no statement", limit, n, err)
			}
		}
	})
	t.Run("what was dropped counts against what is deleted, also after a failure", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var limits []int64
			l := open(t, &statements{
				due: func(sqlledger.DBTX) (int64, error) { return 1, nil },
				drop: func(maxRows int64) (int64, error) {
					limits = append(limits, maxRows)
					if len(limits) > 1 {
						return 0, nil
					}
					return 4, nil
				},
				remove: func(maxRows int64) (int64, error) {
					if limits = append(limits, maxRows); len(limits) == 2 {
						return 0, errBusy
					}
					return 3, nil
				},
			})
			n, err := l.Sweep(t.Context(), 10)
			if want := []int64{10, 6, 6, 6}; n != 7 || err != nil || !slices.Equal(limits, want) {
				t.Errorf("Sweep(10) = %d, %v with limits %v; want 7 with %v", n, err, limits, want)
			}
		})
	})
}

func TestReaderReads(t *testing.T) {
	asked := &stub{}
	reader := stubDB(t, asked)
	say := func(db sqlledger.DBTX, text string) {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Error(err)
		}
	}
	s := &statements{
		insert: func(_ context.Context, db sqlledger.DBTX) (sqlledger.Claimed, error) {
			say(db, "insert")
			return stood, nil
		},
		read: func(_ context.Context, db sqlledger.DBTX) (sqlledger.ReadRow, error) {
			say(db, "read")
			return sqlledger.ReadRow{}, sql.ErrNoRows
		},
		due: func(db sqlledger.DBTX) (int64, error) {
			say(db, "due")
			return 0, nil
		},
	}
	for _, c := range []struct {
		options []sqlledger.Option
		asked   []string
	}{
		{[]sqlledger.Option{sqlledger.WithReader(reader)}, []string{"read", "due"}},
		{nil, nil},
	} {
		l := open(t, s, c.options...)
		asked.executed = nil
		claim := claimOf("owner")
		_, _, insertErr := l.Insert(t.Context(), claim)
		_, _, readErr := l.Read(t.Context(), claim.ID)
		_, sweepErr := l.Sweep(t.Context(), 1)
		if err := errors.Join(insertErr, readErr, sweepErr); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(asked.executed, c.asked) {
			t.Errorf("the reader was asked %q, want %q", asked.executed, c.asked)
		}
	}
}
