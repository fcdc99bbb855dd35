package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/mysql/emitted/ledger"
	"github.com/idemgen/idemgen/prove/servers"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// proxied is a ledger whose connections can be broken, and a pool beside it
// whose connections are not. Statements go out in one packet with their text or
// their number, so that the proxy knows them by name.
func proxied(t *testing.T) (*servers.Proxy, *sqlledger.Ledger, *sql.DB) {
	t.Helper()
	p, err := servers.StartProxy("unix", server.Socket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	p.FollowPrepared()
	name := create(t)
	l, err := ledger.Open(t.Context(), open(t, server.TCP(p.Address(), name, "interpolateParams=true"), 0))
	if err != nil {
		t.Fatal(err)
	}
	return p, l, open(t, server.DSN(name), 0)
}

// breaks are ways to lose a connection at a statement of the ledger.
var breaks = map[string]func(p *servers.Proxy, statement string, times int){
	"request": func(p *servers.Proxy, statement string, times int) { p.LoseRequests("-- name: "+statement+" ", times) },
	"answer":  func(p *servers.Proxy, statement string, times int) { p.LoseAnswers("-- name: "+statement+" ", times) },
}

// A write whose connection breaks, once or thrice, before the server saw it or
// after it stood, is sent again and recognises itself.
func TestLostConnectionsOfWrites(t *testing.T) {
	for name, lose := range breaks {
		for _, times := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s lost %d times", name, times), func(t *testing.T) {
				p, l, db := proxied(t)
				want := func(what string, ok bool, err error) {
					t.Helper()
					if !ok || err != nil {
						t.Errorf("%s = %v, %v", what, ok, err)
					}
					if p.Broken() != times {
						t.Errorf("%s: %d connections were broken; want %d", what, p.Broken(), times)
					}
				}
				c := newClaim("k")
				lose(p, "Insert", times)
				claimed, won, err := l.Insert(t.Context(), c)
				want("Insert", won, err)
				f := fence(c, claimed)
				if row := read(t, l, "k"); row.Owner != c.Owner || row.LeaseUntil != claimed.LeaseUntil || row.Generation != 1 {
					t.Errorf("inserted %+v, the row is %+v", claimed, row)
				}

				lose(p, "Renew", times)
				renewed, held, err := l.Renew(t.Context(), f, c.Terms)
				want("Renew", held, err)
				if row := read(t, l, "k"); row.LeaseUntil != renewed.LeaseUntil {
					t.Errorf("renewed %+v, the row is %+v", renewed, row)
				}

				lose(p, "EndLease", times)
				held, err = l.EndLease(t.Context(), f)
				want("EndLease", held, err)

				next := newClaim("k")
				lose(p, "TakeOver", times)
				claimed, won, err = l.TakeOver(t.Context(), f, next)
				want("TakeOver", won, err)
				if row := read(t, l, "k"); row.Owner != next.Owner || row.Generation != 2 || claimed.Generation != 2 || row.ClaimedAt != claimed.ClaimedAt {
					t.Errorf("taken over %+v, the row is %+v", claimed, row)
				}
				f = fence(next, claimed)

				lose(p, "Recognise", times)
				renewed, held, err = l.Renew(t.Context(), f, c.Terms)
				want("Renew, at its read", held, err)

				lose(p, "Complete", times)
				stands, err := l.Complete(t.Context(), completion(f, []byte("answer")))
				want("Complete", stands, err)
				if row := read(t, l, "k"); !row.Completed || string(row.Answer.Body) != "answer" {
					t.Errorf("completed, the row is %+v", row)
				}

				lose(p, "Read", times)
				row, found, err := l.Read(t.Context(), c.ID)
				want("Read", found, err)

				expire(t, db, "k")
				seen := runtime.Fence{ID: c.ID, Generation: row.Generation, Owner: row.Owner}
				next = newClaim("k")
				lose(p, "Reuse", times)
				claimed, won, err = l.Reuse(t.Context(), seen, next)
				want("Reuse", won, err)
				if row := read(t, l, "k"); row.Owner != next.Owner || row.Generation != 3 || row.Completed || len(row.Answer.Body) != 0 {
					t.Errorf("reused %+v, the row is %+v", claimed, row)
				}

				lose(p, "Release", times)
				held, err = l.Release(t.Context(), fence(next, claimed))
				want("Release", held, err)
				if _, found, err := l.Read(t.Context(), c.ID); found || err != nil {
					t.Errorf("the row is still there: %v, %v", found, err)
				}

				insert(t, l, "old")
				expire(t, db, "old")
				lose(p, "SweepDelete", times)
				if _, err := l.Sweep(t.Context(), 10); err != nil || p.Broken() == 0 {
					t.Errorf("Sweep: %v, %d broken", err, p.Broken())
				}
				if _, found, err := l.Read(t.Context(), id("old")); found || err != nil {
					t.Errorf("the row was not swept: %v, %v", found, err)
				}
			})
		}
	}
}

// A connection that breaks at any step of a transaction leaves one effect and
// one answer, or none of both and a key that can be claimed again.
func TestLostConnectionsOfTransactions(t *testing.T) {
	for name, lose := range map[string]func(p *servers.Proxy){
		"request of the begin":      func(p *servers.Proxy) { p.LoseRequests("START TRANSACTION", 1) },
		"answer to the begin":       func(p *servers.Proxy) { p.LoseAnswers("START TRANSACTION", 1) },
		"request of the fence":      func(p *servers.Proxy) { breaks["request"](p, "Lock", 1) },
		"answer to the fence":       func(p *servers.Proxy) { breaks["answer"](p, "Lock", 1) },
		"request of the savepoint":  func(p *servers.Proxy) { p.LoseRequests("SAVEPOINT idemgen_handler", 1) },
		"request of the effect":     func(p *servers.Proxy) { p.LoseRequests("INSERT INTO effects", 1) },
		"answer to the effect":      func(p *servers.Proxy) { p.LoseAnswers("INSERT INTO effects", 1) },
		"request of the release":    func(p *servers.Proxy) { p.LoseRequests("RELEASE SAVEPOINT", 1) },
		"answer to the release":     func(p *servers.Proxy) { p.LoseAnswers("RELEASE SAVEPOINT", 1) },
		"request of the completion": func(p *servers.Proxy) { breaks["request"](p, "Complete", 1) },
		"answer to the completion":  func(p *servers.Proxy) { breaks["answer"](p, "Complete", 1) },
		"request of the commit":     func(p *servers.Proxy) { p.LoseRequests("COMMIT", 1) },
		"answer to the commit":      func(p *servers.Proxy) { p.LoseAnswers("COMMIT", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			p, l, db := proxied(t)
			effects(t, db)
			g := newGuard(t, newEngine(t, l), func(p *runtime.Policy) { p.Failure = runtime.FailureRelease })
			work := func(_ context.Context, tx *sql.Tx) (runtime.Answer, error) {
				if _, err := tx.Exec("INSERT INTO effects VALUES ('mine')"); err != nil {
					return runtime.Answer{}, err
				}
				return runtime.Answer{Status: 201, Body: []byte("made")}, nil
			}
			lose(p)
			result, err := runtime.DoTx(t.Context(), g, l, call("k"), work)
			first := max(status(result, err), result.Answer.Status)
			if p.Broken() != 1 {
				t.Fatalf("%d connections were broken", p.Broken())
			}
			if made := count(t, db, "mine") == 1; made != (first == 201) {
				t.Errorf("the client was told %d, %v; the effect stands: %v", first, err, made)
			}
			if first != 201 && first != 503 && first != 500 {
				t.Errorf("the client was told %d, %v", first, err)
			}
			// The server may not have noticed yet that a connection is gone;
			// until it does, the key is in progress.
			for {
				result, err = runtime.DoTx(t.Context(), g, l, call("k"), work)
				if s := status(result, err); s != 409 {
					break
				}
			}
			if status(result, err) != 201 || string(result.Answer.Body) != "made" || count(t, db, "mine") != 1 {
				t.Errorf("the retry got %+v, %v, and %d effects stand", result, err, count(t, db, "mine"))
			}
		})
	}
}
