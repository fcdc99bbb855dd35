package mysql_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/idemgen/idemgen/runtime"
)

// What a request asks of the server, on a pool's only connection. With
// interpolateParams a statement is one round trip.
func TestStatementsOfARequest(t *testing.T) {
	l, db := newLedger(t, 1, "interpolateParams=true")
	effects(t, db)
	made := func(context.Context) (runtime.Answer, error) { return runtime.Answer{Status: 201}, nil }
	held := func(context.Context) (runtime.Answer, error) { return runtime.Answer{}, runtime.Hold(context.Canceled) }
	in := func(_ context.Context, tx *sql.Tx) (runtime.Answer, error) {
		_, err := tx.Exec("INSERT INTO effects VALUES ('mine')")
		return runtime.Answer{Status: 201}, err
	}
	quiet := func(p *runtime.Policy) { p.Sweep = 0 }
	// Another guard is another process, which has not met the keys.
	g, other := newGuard(t, newEngine(t, l), quiet), newGuard(t, newEngine(t, l), quiet)
	do := func(g *runtime.Guard, key string, work func(context.Context) (runtime.Answer, error), want int) func() {
		return func() {
			if result, err := g.Do(t.Context(), call(key), work); max(status(result, err), result.Answer.Status) != want {
				t.Errorf("got %+v, %v; want %d", result, err, want)
			}
		}
	}
	for _, c := range []struct {
		name string
		want int64
		run  func()
	}{
		{"fresh: insert, complete", 2, do(g, "k", made, 201)},
		{"replay: read", 1, do(g, "k", made, 201)},
		{"replay in another process: insert, recognise, read", 3, do(other, "k", made, 201)},
		{"held: insert", 1, do(g, "held", held, 500)},
		{"in progress: read", 1, do(g, "held", made, 409)},
		{"in progress in another process: insert, recognise, read", 3, do(other, "held", made, 409)},
		// The rollback ends database/sql's transaction, when the caller has its answer.
		{"in a transaction: insert, begin, lock, savepoint, effect, release, complete, commit, and a rollback of nothing", 9, func() {
			if result, err := runtime.DoTx(t.Context(), g, l, call("tx"), in); status(result, err) != 201 {
				t.Errorf("got %+v, %v", result, err)
			}
		}},
	} {
		before := questions(t, db)
		c.run()
		if n := questions(t, db) - before - 1; n != c.want {
			t.Errorf("%s: %d statements; want %d", c.name, n, c.want)
		}
	}
	// A takeover: read, write, read of what was written; and the completion.
	if _, err := db.Exec("UPDATE idempotency_keys SET lease_until = 1 WHERE `key` = 'held'"); err != nil {
		t.Fatal(err)
	}
	before := questions(t, db)
	do(g, "held", made, 201)()
	if n := questions(t, db) - before - 1; n != 4 {
		t.Errorf("a takeover: %d statements; want 4", n)
	}
}

// questions is how many statements a pool's only connection has sent.
func questions(t testing.TB, db *sql.DB) (n int64) {
	t.Helper()
	var name string
	if err := db.QueryRow("SHOW SESSION STATUS LIKE 'Questions'").Scan(&name, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
