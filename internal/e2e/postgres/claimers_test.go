package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/idemgen/idemgen/internal/e2e/rig"
	"github.com/idemgen/idemgen/runtime"
)

// isolations are the levels that a session may have by default.
var isolations = []string{"read committed", "repeatable read", "serializable"}

// eachIsolation runs a test at each level.
func eachIsolation(t *testing.T, test func(t *testing.T, d driver, database string)) {
	each(t, func(t *testing.T, d driver) {
		for _, isolation := range isolations {
			t.Run(isolation, func(t *testing.T) {
				test(t, d, create(t, "default_transaction_isolation TO '"+isolation+"'"))
			})
		}
	})
}

func TestManyClientsOfAFreshKey(t *testing.T) {
	const clients = 500
	eachIsolation(t, func(t *testing.T, d driver, database string) {
		l := d.open(t, server.DSN(database), 32)
		g := rig.NewGuard(t, rig.NewEngine(t, l), nil)
		var runs, replayed, told atomic.Int64
		rig.Together(clients, func(int) {
			result, err := g.Do(context.Background(), rig.Call("k"), func(context.Context) (runtime.Answer, error) {
				runs.Add(1)
				return runtime.Answer{Status: 201, Body: []byte("made")}, nil
			})
			switch s := rig.Status(result, err); s {
			case 201:
				replayed.Add(1)
			case 409:
				told.Add(1)
			default:
				t.Errorf("a client got %d, %v", s, err)
			}
		})
		if runs.Load() != 1 {
			t.Errorf("the work ran %d times", runs.Load())
		}
		t.Logf("%d got the answer, %d were told to wait", replayed.Load(), told.Load())
		if result, err := g.Do(context.Background(), rig.Call("k"), func(context.Context) (runtime.Answer, error) {
			return runtime.Answer{}, errors.New("ran again")
		}); rig.Status(result, err) != 201 || string(result.Answer.Body) != "made" {
			t.Errorf("afterwards: %+v, %v", result, err)
		}
	})
}

func TestManyClientsOfAStaleKey(t *testing.T) {
	const clients, rounds = 16, 20
	eachIsolation(t, func(t *testing.T, d driver, database string) {
		l := d.open(t, server.DSN(database), 0)
		g := rig.NewGuard(t, rig.NewEngine(t, l), nil)
		for round := range rounds {
			key := fmt.Sprint("k", round)
			f := rig.InsertFor(t, l, key)
			if held, err := l.EndLease(t.Context(), f); err != nil || !held {
				t.Fatal(held, err)
			}
			var runs atomic.Int64
			rig.Together(clients, func(int) {
				result, err := g.Do(context.Background(), rig.Call(key), func(context.Context) (runtime.Answer, error) {
					runs.Add(1)
					return runtime.Answer{Status: 201}, nil
				})
				if s := rig.Status(result, err); s != 201 && s != 409 {
					t.Errorf("a client got %d, %v", s, err)
				}
			})
			if runs.Load() != 1 {
				t.Errorf("%d takeovers of one row", runs.Load())
			}
		}
	})
}

// Whole requests of neighbouring keys, whose rows and index entries share
// pages: whatever failures PostgreSQL sees, no caller sees one.
func TestClaimersOfNeighbours(t *testing.T) {
	const claimers, rounds = 50, 10
	eachIsolation(t, func(t *testing.T, d driver, database string) {
		l := d.open(t, server.DSN(database), 32)
		var retried atomic.Int64
		l.NotifyRetry(func(context.Context, string, error) { retried.Add(1) })
		for round := range rounds {
			rig.Together(claimers, func(i int) {
				c := rig.NewClaim(fmt.Sprintf("%d-%d", round, i))
				claimed, won, err := l.Insert(context.Background(), c)
				if err != nil || !won {
					t.Errorf("insert: %v, %v", won, err)
					return
				}
				stands, err := l.Complete(context.Background(), rig.Completion(rig.Fence(c, claimed), []byte("answer")))
				if err != nil || !stands {
					t.Errorf("complete: %v, %v", stands, err)
				}
			})
		}
		t.Logf("%d statements were sent again", retried.Load())
	})
}

// Losers of a race ask three statements at most, and a replay of a key that the
// process has met asks one.
func TestStatementsOfLosersAreBounded(t *testing.T) {
	const clients = 200
	each(t, func(t *testing.T, d driver) {
		var sent counter
		l := openCounted(t, d, create(t), &sent)
		var retried atomic.Int64
		l.NotifyRetry(func(context.Context, string, error) { retried.Add(1) })
		g := rig.NewGuard(t, rig.NewEngine(t, l), func(p *runtime.Policy) { p.Sweep = 0 })
		before := sent.Load()
		release := make(chan struct{})
		var ended atomic.Int64
		rig.Together(clients, func(int) {
			result, err := g.Do(context.Background(), rig.Call("k"), func(context.Context) (runtime.Answer, error) {
				<-release
				return runtime.Answer{Status: 201}, nil
			})
			if s := rig.Status(result, err); s != 201 && s != 409 {
				t.Errorf("a client got %d, %v", s, err)
			}
			if ended.Add(1) == clients-1 {
				close(release) // all but the owner have lost
			}
		})
		// A client whose process has met the key reads, inserts and, having
		// lost, reads again.
		if n := sent.Load() - before; n > 3*clients || retried.Load() > 0 {
			t.Errorf("%d clients of one key asked %d statements, %d of them again", clients, n, retried.Load())
		}
		before = sent.Load()
		for range 10 {
			if result, err := g.Do(context.Background(), rig.Call("k"), nil); !result.Replayed {
				t.Fatal(result, err)
			}
		}
		if n := sent.Load() - before; n != 10 {
			t.Errorf("10 replays of a key that this process has met asked %d statements", n)
		}
	})
}

// A claim and its replay cost the write-ahead log what they must: a replay, and
// a claim that is lost, write nothing.
func TestReplaysWriteNothing(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		database := create(t)
		l := d.open(t, server.DSN(database), 0)
		f := rig.Insert(t, l, "k")
		if stands, err := l.Complete(t.Context(), rig.Completion(f, []byte("answer"))); err != nil || !stands {
			t.Fatal(stands, err)
		}
		db := openSQL(t, server.DSN(database), 1)
		transactions := func() (n int64) {
			// A transaction that writes takes a number.
			if err := db.QueryRow("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		before := transactions()
		for range 20 {
			rig.Read(t, l, "k")
			if _, won, err := l.Insert(t.Context(), rig.NewClaim("k")); won || err != nil {
				t.Fatal(won, err)
			}
			if n, err := l.Sweep(t.Context(), 20); n != 0 || err != nil {
				t.Fatal(n, err)
			}
		}
		if n := transactions() - before; n > 0 {
			t.Errorf("20 reads, lost inserts and sweeps of nothing wrote %d times", n)
		}
	})
}

// counter counts statements on their way to the server.
type counter struct{ atomic.Int64 }

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.Add(1)
	return ctx
}

func (c *counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// openCounted opens a ledger whose statements are counted.
func openCounted(t testing.TB, d driver, database string, sent *counter) ledger {
	t.Helper()
	config, err := pgxpool.ParseConfig(server.DSN(database))
	if err != nil {
		t.Fatal(err)
	}
	config.ConnConfig.Tracer = sent
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if d.name != "sql" {
		return openNative(t, pool)
	}
	db := stdlib.OpenDBFromPool(pool)
	t.Cleanup(func() { db.Close() })
	return openStandard(t, db)
}
