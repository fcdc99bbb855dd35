package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idemgen/idemgen/internal/e2e/mysql/emitted/ledger"
	"github.com/idemgen/idemgen/prove/servers"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// mortal is a server of the test's own, which it may kill.
func mortal(t *testing.T) (*servers.MariaDB, *sqlledger.Ledger, *sql.DB) {
	t.Helper()
	s, err := servers.StartMariaDB()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	if err := s.Create("ledger"); err != nil {
		t.Fatal(err)
	}
	db := open(t, s.DSN("ledger"), 32)
	l, err := ledger.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	effects(t, db)
	return s, l, db
}

func start(t *testing.T, s *servers.MariaDB) {
	t.Helper()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
}

// The answer of work that outlived the database reaches its caller, and is
// recorded when the database is back.
func TestDatabaseKilledBetweenClaimAndCompletion(t *testing.T) {
	s, l, _ := mortal(t)
	g := newGuard(t, newEngine(t, l), nil)
	runs := 0
	work := func(context.Context) (runtime.Answer, error) {
		runs++
		if runs == 1 {
			s.Kill()
		}
		return runtime.Answer{Status: 201, Body: []byte("made")}, nil
	}
	result, err := g.Do(t.Context(), call("k"), work)
	if status(result, err) != 201 || string(result.Answer.Body) != "made" {
		t.Errorf("the caller got %+v, %v", result, err)
	}
	if result, err := g.Do(t.Context(), call("k"), work); status(result, err) != 503 {
		t.Errorf("while the database is down: %+v, %v", result, err)
	}
	start(t, s)
	result, err = eventually(g, work, "k")
	if status(result, err) != 201 || !result.Replayed || runs != 1 {
		t.Errorf("after %d runs the retry got %+v, %v", runs, result, err)
	}
}

// eventually repeats a request while its key is in progress or the database is
// not there.
func eventually(g *runtime.Guard, work func(context.Context) (runtime.Answer, error), key string) (runtime.Result, error) {
	for {
		result, err := g.Do(context.Background(), call(key), work)
		if s := status(result, err); s != 409 && s != 503 {
			return result, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// A transaction that the database did not survive had no effect, and its key
// can be claimed again.
func TestDatabaseKilledInATransaction(t *testing.T) {
	s, l, db := mortal(t)
	g := newGuard(t, newEngine(t, l), func(p *runtime.Policy) { p.Failure = runtime.FailureRelease })
	runs := 0
	work := func(_ context.Context, tx *sql.Tx) (runtime.Answer, error) {
		runs++
		if _, err := tx.Exec("INSERT INTO effects VALUES ('mine')"); err != nil {
			return runtime.Answer{}, err
		}
		if runs == 1 {
			s.Kill()
		}
		return runtime.Answer{Status: 201}, nil
	}
	if result, err := runtime.DoTx(t.Context(), g, l, call("k"), work); max(status(result, err), result.Answer.Status) != 503 {
		t.Errorf("the caller got %+v, %v; want 503", result, err)
	}
	start(t, s)
	for {
		result, err := runtime.DoTx(t.Context(), g, l, call("k"), work)
		if s := status(result, err); s == 409 || s == 503 {
			continue
		}
		if status(result, err) != 201 || runs != 2 {
			t.Errorf("after %d runs the retry got %+v, %v", runs, result, err)
		}
		break
	}
	if n := count(t, db, "mine"); n != 1 {
		t.Errorf("%d effects stand", n)
	}
}

// The database is killed among many commits. What each client was told holds,
// and in the end every key has one effect and one answer: a commit that could
// not be decided while the database was down is decided when its lease ends.
func TestDatabaseKilledDuringCommits(t *testing.T) {
	const kills, clients, each = 3, 8, 40
	s, l, db := mortal(t)
	g := newGuard(t, newEngine(t, l), func(p *runtime.Policy) {
		p.Failure, p.Lease, p.Timeout = runtime.FailureRelease, 2*time.Second, time.Second
	})
	request := func(key string) (runtime.Result, error) {
		return runtime.DoTx(context.Background(), g, l, call(key), func(_ context.Context, tx *sql.Tx) (runtime.Answer, error) {
			if _, err := tx.Exec("INSERT INTO effects VALUES (?)", key); err != nil {
				return runtime.Answer{}, err
			}
			return runtime.Answer{Status: 201, Body: []byte(key)}, nil
		})
	}
	for kill := range kills {
		var commits, refused atomic.Int64
		told := sync.Map{}
		killed := make(chan struct{})
		go func() {
			defer close(killed)
			for commits.Load() < clients*each/4 {
				time.Sleep(100 * time.Microsecond)
			}
			s.Kill()
		}()
		together(clients, func(client int) {
			for i := range each {
				key := fmt.Sprintf("%d-%d-%d", kill, client, i)
				result, err := request(key)
				if status(result, err) == 201 {
					commits.Add(1)
					told.Store(key, true)
				} else {
					refused.Add(1)
				}
			}
		})
		<-killed
		start(t, s)
		for client := range clients {
			for i := range each {
				key := fmt.Sprintf("%d-%d-%d", kill, client, i)
				if _, ok := told.Load(key); ok && count(t, db, key) != 1 {
					t.Errorf("%s: the client was told that it is done; %d effects stand", key, count(t, db, key))
				}
				for {
					result, err := request(key)
					if s := status(result, err); s == 409 || s == 503 {
						continue
					}
					if status(result, err) != 201 || string(result.Answer.Body) != key {
						t.Errorf("%s: the retry got %+v, %v", key, result, err)
					}
					break
				}
				if n := count(t, db, key); n != 1 {
					t.Errorf("%s: %d effects stand", key, n)
				}
			}
		}
		t.Logf("%d requests were done before the kill, %d were refused", commits.Load(), refused.Load())
	}
}
