package shop_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/idemgen/idemgen/internal/e2e/process"
)

// The server is killed at twenty random moments under load and started again
// on the same file each time. Afterwards every key is retried to its end.
func TestKillAtRandomMoments(t *testing.T) {
	for _, d := range []database{sqliteShared, sqliteApart} {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			killAtRandomMoments(t, d)
		})
	}
}

func killAtRandomMoments(t *testing.T, d database) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	file := d.create(t)
	l := &load{answers: map[string]answer{}}
	const rounds = 20
	for round := range rounds {
		s := d.start(t, file)
		l.run(s, round, 1+random.IntN(60))
		db := open(t, file)
		wantIntegrity(t, db)
		wantTogether(t, db)
		db.Close()
	}

	s := d.start(t, file)
	for _, c := range l.calls {
		before, answered := l.answers[c.key]
		after := c.settle(t, s)
		if after.status != 201 && after.status != 200 {
			t.Errorf("key %s ended with %d %s", c.key, after.status, after.body)
		}
		if answered {
			wantSame(t, before, after)
		}
	}
	db := open(t, file)
	defer db.Close()
	wantIntegrity(t, db)
	wantTogether(t, db)
	wantRuns(t, db, l)
	t.Logf("%d keys, %d answered before a kill", len(l.calls), len(l.answers))
}

// load is what clients asked for and were told.
type load struct {
	mu      sync.Mutex
	calls   []call
	answers map[string]answer
	served  int
}

// run loads the server with clients and kills it once it has given as many
// answers as asked for; what is in flight then is at a random place.
func (l *load) run(s *process.Server, round, answers int) {
	l.mu.Lock()
	l.served = 0
	l.mu.Unlock()
	kill := sync.OnceFunc(s.Kill)
	var wg sync.WaitGroup
	for client := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("order-%d-%d-%d", round, client, i)
				a, ok := l.send(s, create(key, fmt.Sprintf(`{"sku":%q,"qty":1}`, key)), answers, kill)
				if !ok {
					return
				}
				var o order
				json.Unmarshal(a.body, &o)
				cancel := call{method: "POST", path: fmt.Sprintf("/v1/orders/%d/cancel", o.ID), key: fmt.Sprintf("cancel-%d", o.ID)}
				if _, ok := l.send(s, cancel, answers, kill); !ok {
					return
				}
			}
		})
	}
	wg.Wait()
}

// send makes a call and kills the server when it was the last one wanted. It
// reports false when the server was gone.
func (l *load) send(s *process.Server, c call, last int, kill func()) (answer, bool) {
	l.mu.Lock()
	l.calls = append(l.calls, c)
	l.mu.Unlock()
	a, err := c.send(context.Background(), s)
	if err != nil {
		return answer{}, false
	}
	l.mu.Lock()
	l.answers[c.key] = a
	l.served++
	done := l.served >= last
	l.mu.Unlock()
	if done {
		kill()
	}
	return a, true
}

func open(t *testing.T, file string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func wantIntegrity(t *testing.T, db *sql.DB) {
	t.Helper()
	var verdict string
	if err := db.QueryRow(`PRAGMA integrity_check`).Scan(&verdict); err != nil || verdict != "ok" {
		t.Fatalf("integrity check: %s, %v", verdict, err)
	}
}

// wantTogether checks that the effect of a cancellation and its answer stand
// together or not at all.
func wantTogether(t *testing.T, db *sql.DB) {
	t.Helper()
	var apart int
	err := db.QueryRow(`
SELECT count(*) FROM orders AS o
LEFT JOIN cancellations AS c ON c.order_id = o.id
LEFT JOIN idempotency_keys AS k ON k.key = 'cancel-' || o.id
WHERE (o.status = 'cancelled') <> (c.id IS NOT NULL)
   OR (c.id IS NOT NULL) <> (coalesce(k.status, '') = 'completed')`).Scan(&apart)
	if err != nil || apart != 0 {
		t.Fatalf("%d cancellations stand without their answer or the reverse, %v", apart, err)
	}
}

// wantRuns counts effects. Orders are placed without a transaction: a kill
// between effect and completion lets the takeover run again, so a key has at
// most one order for each generation of its claim, and one where there was no
// takeover. Cancellations happen exactly once.
func wantRuns(t *testing.T, db *sql.DB, l *load) {
	t.Helper()
	rows, err := db.Query(`
SELECT k.key, k.generation, count(o.id) FROM idempotency_keys AS k
LEFT JOIN orders AS o ON o.sku = k.key WHERE k.key LIKE 'order-%' GROUP BY k.key`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	keys := 0
	for rows.Next() {
		var key string
		var generation, orders int
		if err := rows.Scan(&key, &generation, &orders); err != nil {
			t.Fatal(err)
		}
		keys++
		if orders < 1 || orders > generation {
			t.Errorf("key %s: %d orders under %d claims", key, orders, generation)
		}
	}
	if err := rows.Err(); err != nil || keys == 0 {
		t.Fatalf("%d keys, %v", keys, err)
	}
	var twice int
	err = db.QueryRow(`SELECT count(*) FROM (SELECT 1 FROM cancellations GROUP BY order_id HAVING count(*) > 1)`).Scan(&twice)
	if err != nil || twice != 0 {
		t.Errorf("%d orders were cancelled twice, %v", twice, err)
	}
}
