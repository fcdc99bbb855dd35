package postgres_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemgen/idemgen/internal/e2e/rig"
	"github.com/idemgen/idemgen/prove/servers"
	"github.com/idemgen/idemgen/runtime"
)

// mortal is a server that a test kills.
func mortal(t *testing.T) *servers.Postgres {
	t.Helper()
	s, err := servers.StartPostgres()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	if err := s.Create("shop"); err != nil {
		t.Fatal(err)
	}
	return s
}

// The server dies between a claim and its completion and comes back: the
// caller has the answer, and the key has it sooner or later, once.
func TestServerKilledBeforeACompletion(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		s := mortal(t)
		l := d.open(t, s.DSN("shop"), 0)
		g := rig.NewGuard(t, rig.NewEngine(t, l), nil)
		for round := range 3 {
			key := fmt.Sprint("k", round)
			var runs atomic.Int64
			work := func(context.Context) (runtime.Answer, error) {
				runs.Add(1)
				s.Kill()
				return runtime.Answer{Status: 201, Body: []byte("made")}, nil
			}
			if result, err := g.Do(t.Context(), rig.Call(key), work); rig.Status(result, err) != 201 {
				t.Fatalf("the caller got %+v, %v", result, err)
			}
			if result, err := g.Do(t.Context(), rig.Call(key), work); rig.Status(result, err) != 503 {
				t.Errorf("with the server down, a retry got %+v, %v; want 503", result, err)
			}
			if err := s.Start(); err != nil {
				t.Fatal(err)
			}
			await(t, func() bool {
				result, err := g.Do(t.Context(), rig.Call(key), work)
				switch status := rig.Status(result, err); status {
				case 201:
					return result.Replayed && string(result.Answer.Body) == "made"
				case 409, 503:
				default:
					t.Fatalf("a retry got %+v, %v", result, err)
				}
				return false
			})
			if runs.Load() != 1 {
				t.Errorf("the work ran %d times", runs.Load())
			}
		}
	})
}

// The server dies in the course of a transaction: whatever stands after its
// return, retries end with one answer and one effect.
func TestServerKilledAroundACommit(t *testing.T) {
	for _, c := range []struct {
		name string
		// prepare makes a COMMIT wait in the place where it is to be hit.
		prepare string
		waits   string // what it waits for
		stands  bool   // what has been done when it waits
	}{
		{"before the completion", "", "ClientRead", false},
		{"COMMIT that is undone", "SELECT pg_advisory_lock(1)", "advisory", false},
		{"COMMIT that stands", "", "SyncRep", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, d driver) {
				s := mortal(t)
				if err := s.Run("shop", "CREATE TABLE orders (key text)",
					// COMMIT runs a deferred trigger, which waits for a lock.
					"CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END'",
					"CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait()",
					// A COMMIT that waits for a standby which never comes stands already.
					"ALTER DATABASE shop SET synchronous_commit TO local",
					"ALTER SYSTEM SET synchronous_standby_names TO 'nobody'", "SELECT pg_reload_conf()"); err != nil {
					t.Fatal(err)
				}
				l := d.open(t, s.DSN("shop"), 0)
				// A lease is short, so that what the crash has left is soon taken over.
				g := rig.NewGuard(t, rig.NewEngine(t, l), func(p *runtime.Policy) {
					p.Lease, p.Timeout, p.Failure = 4*time.Second, 3*time.Second, runtime.FailureRelease
				})
				beside, err := openSQL(t, s.DSN("shop"), 0).Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer beside.Close()
				if c.prepare != "" {
					if _, err := beside.ExecContext(t.Context(), c.prepare); err != nil {
						t.Fatal(err)
					}
				}
				done := make(chan struct{})
				killed := make(chan struct{})
				go func() {
					defer close(killed)
					<-done
					await(t, func() bool {
						var waiting int
						err := beside.QueryRowContext(context.Background(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event = $1 AND xact_start IS NOT NULL", c.waits).Scan(&waiting)
						return err != nil || waiting > 0
					})
					s.Kill()
				}()
				status := request(t, g, l, "k", c.waits == "SyncRep", func() {
					close(done)
					if c.waits == "ClientRead" {
						<-killed
					}
				})
				if status != 503 {
					t.Errorf("the caller got %d; want 503", status)
				}
				<-killed
				if err := s.Start(); err != nil {
					t.Fatal(err)
				}
				db := openSQL(t, s.DSN("shop"), 1)
				effects := func() (n int) {
					if err := db.QueryRow("SELECT count(*) FROM orders").Scan(&n); err != nil {
						t.Fatal(err)
					}
					return n
				}
				if stands := effects() == 1; stands != c.stands {
					t.Fatalf("after the crash, the effect stands: %v; want %v", stands, c.stands)
				}
				await(t, func() bool {
					status := request(t, g, l, "k", false, func() {})
					if status != 201 && status != 409 && status != 503 {
						t.Fatalf("a retry got %d", status)
					}
					return status == 201
				})
				if n := effects(); n != 1 {
					t.Errorf("%d effects; want 1", n)
				}
				if row := rig.Read(t, l, "k"); !row.Completed || row.Answer.Status != 201 {
					t.Errorf("the row is %+v", row)
				}
			})
		})
	}
}

// request is one request whose effect is a row of orders. It calls back when
// its work is done. It may ask that its COMMIT waits for a standby.
func request(t testing.TB, g *runtime.Guard, l ledger, key string, standby bool, done func()) int {
	insert := "INSERT INTO orders (key) VALUES ('" + key + "')"
	if standby {
		insert += "; SET LOCAL synchronous_commit TO on"
	}
	answer := runtime.Answer{Status: 201, Body: []byte("made")}
	var result runtime.Result
	var err error
	if native, ok := l.(runtime.TxLedger[pgx.Tx]); ok {
		result, err = runtime.DoTx(t.Context(), g, native, rig.Call(key), func(ctx context.Context, tx pgx.Tx) (runtime.Answer, error) {
			_, err := tx.Exec(ctx, insert)
			done()
			return answer, err
		})
	} else {
		result, err = runtime.DoTx(t.Context(), g, l.(runtime.TxLedger[sqlTx]), rig.Call(key), func(ctx context.Context, tx sqlTx) (runtime.Answer, error) {
			_, err := tx.ExecContext(ctx, insert)
			done()
			return answer, err
		})
	}
	return rig.Status(result, err)
}
