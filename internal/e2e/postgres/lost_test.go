package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/idemgen/idemgen/internal/e2e/rig"
	"github.com/idemgen/idemgen/prove/servers"
	"github.com/idemgen/idemgen/runtime"
)

// proxied is a database that is reached through a proxy which can break
// connections. Statements travel with their text, so that the proxy knows them
// by name.
func proxied(t *testing.T) (p *servers.Proxy, dsn string, beside *sql.DB) {
	t.Helper()
	p, err := servers.StartProxy("unix", server.Socket()+"/.s.PGSQL.5432")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	name := create(t)
	return p, server.Through(p, name, "default_query_exec_mode=exec"), openSQL(t, server.DSN(name), 0)
}

// breaks are ways to lose a connection at a statement of the ledger, whose name
// begins so: a claim is another statement when it is sent again.
var breaks = map[string]func(p *servers.Proxy, statement string, times int){
	"request": func(p *servers.Proxy, statement string, times int) { p.LoseRequests("-- name: "+statement, times) },
	"answer":  func(p *servers.Proxy, statement string, times int) { p.LoseAnswers("-- name: "+statement, times) },
}

// A write whose connection breaks, once or thrice, before the server saw it or
// after it stood, is sent again and recognises itself.
func TestLostConnectionsOfWrites(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		for name, lose := range breaks {
			for _, times := range []int{1, 3} {
				t.Run(fmt.Sprintf("%s lost %d times", name, times), func(t *testing.T) {
					p, dsn, db := proxied(t)
					loseOnce(t, d.open(t, dsn, 0), db, p, func(statement string) { lose(p, statement, times) }, times)
				})
			}
		}
	})
}

func loseOnce(t *testing.T, l ledger, db *sql.DB, p *servers.Proxy, lose func(statement string), times int) {
	want := func(what string, ok bool, err error) {
		t.Helper()
		if !ok || err != nil {
			t.Errorf("%s = %v, %v", what, ok, err)
		}
		if p.Broken() != times {
			t.Errorf("%s: %d connections were broken; want %d", what, p.Broken(), times)
		}
	}
	c := rig.NewClaim("k")
	lose("Insert")
	claimed, won, err := l.Insert(t.Context(), c)
	want("Insert", won, err)
	f := rig.Fence(c, claimed)
	if row := rig.Read(t, l, "k"); row.Owner != c.Owner || row.LeaseUntil != claimed.LeaseUntil || row.Generation != 1 {
		t.Errorf("inserted %+v, the row is %+v", claimed, row)
	}

	lose("Renew")
	renewed, held, err := l.Renew(t.Context(), f, c.Terms)
	want("Renew", held, err)
	if row := rig.Read(t, l, "k"); row.LeaseUntil != renewed.LeaseUntil {
		t.Errorf("renewed %+v, the row is %+v", renewed, row)
	}

	lose("EndLease")
	held, err = l.EndLease(t.Context(), f)
	want("EndLease", held, err)

	next := rig.NewClaim("k")
	lose("TakeOver")
	claimed, won, err = l.TakeOver(t.Context(), f, next)
	want("TakeOver", won, err)
	if row := rig.Read(t, l, "k"); row.Owner != next.Owner || row.Generation != 2 || claimed.Generation != 2 || row.ClaimedAt != claimed.ClaimedAt {
		t.Errorf("taken over %+v, the row is %+v", claimed, row)
	}
	f = rig.Fence(next, claimed)

	lose("Complete")
	stands, err := l.Complete(t.Context(), rig.Completion(f, []byte("answer")))
	want("Complete", stands, err)
	if row := rig.Read(t, l, "k"); !row.Completed || string(row.Answer.Body) != "answer" {
		t.Errorf("completed, the row is %+v", row)
	}

	lose("Read")
	row, found, err := l.Read(t.Context(), c.ID)
	want("Read", found, err)

	expire(t, db, "k")
	seen := runtime.Fence{ID: c.ID, Generation: row.Generation, Owner: row.Owner}
	next = rig.NewClaim("k")
	lose("Reuse")
	claimed, won, err = l.Reuse(t.Context(), seen, next)
	want("Reuse", won, err)
	if row := rig.Read(t, l, "k"); row.Owner != next.Owner || row.Generation != 3 || row.Completed || len(row.Answer.Body) != 0 {
		t.Errorf("reused %+v, the row is %+v", claimed, row)
	}

	lose("Release")
	held, err = l.Release(t.Context(), rig.Fence(next, claimed))
	want("Release", held, err)
	if _, found, err := l.Read(t.Context(), c.ID); found || err != nil {
		t.Errorf("the row is still there: %v, %v", found, err)
	}

	rig.Insert(t, l, "old")
	expire(t, db, "old")
	lose("Sweep")
	if _, err := l.Sweep(t.Context(), 10); err != nil || p.Broken() == 0 {
		t.Errorf("Sweep: %v, %d broken", err, p.Broken())
	}
	if _, found, err := l.Read(t.Context(), rig.ID("old")); found || err != nil {
		t.Errorf("the row was not swept: %v, %v", found, err)
	}
}

// requesting is a request whose effect is a row, through one driver.
type requesting func(t *testing.T, dsn string) (runtime.Ledger, func(*runtime.Guard) (runtime.Result, error))

const effect = "INSERT INTO effects VALUES ('mine')"

var made = runtime.Answer{Status: 201, Body: []byte("made")}

var requestings = map[string]requesting{
	"pgx": func(t *testing.T, dsn string) (runtime.Ledger, func(*runtime.Guard) (runtime.Result, error)) {
		l := openNative(t, openPool(t, dsn, 0))
		return l, func(g *runtime.Guard) (runtime.Result, error) {
			return runtime.DoTx(context.Background(), g, l, rig.Call("k"), func(ctx context.Context, tx pgx.Tx) (runtime.Answer, error) {
				_, err := tx.Exec(ctx, effect)
				return made, err
			})
		}
	},
	"sql": func(t *testing.T, dsn string) (runtime.Ledger, func(*runtime.Guard) (runtime.Result, error)) {
		l := openStandard(t, openSQL(t, dsn, 0))
		return l, func(g *runtime.Guard) (runtime.Result, error) {
			return runtime.DoTx(context.Background(), g, l, rig.Call("k"), func(ctx context.Context, tx *sql.Tx) (runtime.Answer, error) {
				_, err := tx.ExecContext(ctx, effect)
				return made, err
			})
		}
	},
}

// A connection that breaks at any step of a transaction leaves one effect and
// one answer, or none of both and a key that can be claimed again.
func TestLostConnectionsOfTransactions(t *testing.T) {
	for driver, begin := range map[string]string{"pgx": "BEGIN; ", "sql": "begin"} {
		for name, lose := range map[string]func(p *servers.Proxy){
			"request of the begin":      func(p *servers.Proxy) { p.LoseRequests(begin, 1) },
			"answer to the begin":       func(p *servers.Proxy) { p.LoseAnswers(begin, 1) },
			"request of the fence":      func(p *servers.Proxy) { breaks["request"](p, "Lock", 1) },
			"answer to the fence":       func(p *servers.Proxy) { breaks["answer"](p, "Lock", 1) },
			"request of the effect":     func(p *servers.Proxy) { p.LoseRequests("INSERT INTO effects", 1) },
			"answer to the effect":      func(p *servers.Proxy) { p.LoseAnswers("INSERT INTO effects", 1) },
			"request of the release":    func(p *servers.Proxy) { p.LoseRequests("RELEASE SAVEPOINT", 1) },
			"answer to the release":     func(p *servers.Proxy) { p.LoseAnswers("RELEASE SAVEPOINT", 1) },
			"request of the completion": func(p *servers.Proxy) { breaks["request"](p, "CompleteIn", 1) },
			"answer to the completion":  func(p *servers.Proxy) { breaks["answer"](p, "CompleteIn", 1) },
			"request of the commit":     func(p *servers.Proxy) { p.LoseRequests("commit", 1) },
			"answer to the commit":      func(p *servers.Proxy) { p.LoseAnswers("commit", 1) },
		} {
			t.Run(driver+"/"+name, func(t *testing.T) {
				p, dsn, db := proxied(t)
				if _, err := db.Exec("CREATE TABLE effects (who text)"); err != nil {
					t.Fatal(err)
				}
				l, request := requestings[driver](t, dsn)
				g := rig.NewGuard(t, rig.NewEngine(t, l), func(p *runtime.Policy) { p.Failure = runtime.FailureRelease })
				effects := func() (n int) {
					if err := db.QueryRow("SELECT count(*) FROM effects").Scan(&n); err != nil {
						t.Fatal(err)
					}
					return n
				}
				lose(p)
				result, err := request(g)
				first := max(rig.Status(result, err), result.Answer.Status)
				if p.Broken() != 1 {
					t.Fatalf("%d connections were broken", p.Broken())
				}
				if stands := effects() == 1; stands != (first == 201) {
					t.Errorf("the client was told %d, %v; the effect stands: %v", first, err, stands)
				}
				if first != 201 && first != 503 && first != 500 {
					t.Errorf("the client was told %d, %v", first, err)
				}
				// The server may not have noticed yet that a connection is
				// gone; until it does, the key is in progress.
				for {
					result, err = request(g)
					if s := rig.Status(result, err); s != 409 {
						break
					}
				}
				if rig.Status(result, err) != 201 || string(result.Answer.Body) != "made" || effects() != 1 {
					t.Errorf("the retry got %+v, %v, and %d effects stand", result, err, effects())
				}
			})
		}
	}
}
