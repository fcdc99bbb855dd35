package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/idemgen/idemgen/internal/e2e/rig"
	"github.com/idemgen/idemgen/prove/servers"
	"github.com/idemgen/idemgen/runtime"
)

// Behind a pooler that gives each transaction another session, with a driver
// that prepares statements, every order is placed once and told so.
func TestOrdersBehindPgBouncer(t *testing.T) {
	pooler, err := servers.StartPgBouncer(server, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pooler.Stop)
	eachDriver(t, func(t *testing.T, d driver) {
		database := create(t)
		if err := server.Run(database, "CREATE TABLE orders (n integer)"); err != nil {
			t.Fatal(err)
		}
		l := d.open(t, pooler.DSN(database, "default_query_exec_mode=cache_statement"), 8)
		engine := rig.NewEngine(t, l)
		for mode, change := range modes {
			g := rig.NewGuard(t, engine, change)
			var wait sync.WaitGroup
			for worker := range 8 {
				wait.Go(func() {
					for i := range 20 {
						key := fmt.Sprint(mode, worker, "-", i)
						for range 2 {
							// The handler's statement has no arguments, and so no name.
							if result, err := doTx(t, g, l, key, runtime.Answer{Status: 201}, "INSERT INTO orders VALUES (1)"); rig.Status(result, err) != 201 {
								t.Errorf("%s: %d, %v", key, rig.Status(result, err), err)
							}
						}
					}
				})
			}
			wait.Wait()
		}
		var orders int
		if err := openSQL(t, server.DSN(database), 1).QueryRow("SELECT count(*) FROM orders").Scan(&orders); err != nil || orders != 2*8*20 {
			t.Errorf("%d orders, %v; want %d", orders, err, 2*8*20)
		}
	})
}

// Whatever the key, the caller and the answer hold, statements that are written
// out say the same as those with arguments.
func TestStatementsThatAreWrittenOut(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		l := d.open(t, server.DSN(create(t, "standard_conforming_strings TO off")), 0)
		body := []byte{0, 1, '\'', '\\', '"', '$', '1', ';', 0xff}
		c := rig.NewClaim(`k'; DROP TABLE idempotency_keys; -- \ $1 "`)
		claimed, won, err := l.Insert(t.Context(), c)
		if err != nil || !won {
			t.Fatal(won, err)
		}
		x := begin(t, l, rig.Fence(c, claimed))
		if stands, err := x.Complete(t.Context(), rig.Completion(rig.Fence(c, claimed), body)); err != nil || !stands {
			t.Fatal(stands, err)
		}
		if err := x.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		row, found, err := l.Read(t.Context(), c.ID)
		if err != nil || !found || string(row.Answer.Body) != string(body) {
			t.Errorf("read %q, %v, %v", row.Answer.Body, found, err)
		}
	})
}

// Somebody's DISCARD ALL, and a column whose type is changed while the service
// runs, cost nobody a request.
func TestStatementsThatAreLostMeanwhile(t *testing.T) {
	for name, lose := range map[string]string{
		"DISCARD ALL":    "DISCARD ALL",
		"another column": "ALTER TABLE idempotency_keys ALTER COLUMN response_status TYPE numeric, ALTER COLUMN operation TYPE varchar(300)",
	} {
		t.Run(name, func(t *testing.T) {
			database := create(t)
			pool := openPool(t, server.DSN(database), 4)
			db := openSQL(t, server.DSN(database), 4)
			for _, l := range []ledger{openNative(t, pool), openStandard(t, db)} {
				g := rig.NewGuard(t, rig.NewEngine(t, l), nil)
				work := func(context.Context) (runtime.Answer, error) { return runtime.Answer{Status: 201}, nil }
				for round := range 2 {
					for i := range 40 {
						key := fmt.Sprintf("%T-%d-%d", l, round, i)
						rig.Together(4, func(j int) {
							for range 2 {
								if result, err := g.Do(t.Context(), rig.Call(fmt.Sprint(key, j)), work); rig.Status(result, err) != 201 {
									t.Errorf("%s: %d, %v", key, rig.Status(result, err), err)
								}
							}
						})
					}
					discard(t, pool.Config().MaxConns, func(ctx context.Context) (func(), error) {
						conn, err := pool.Acquire(ctx)
						if err != nil {
							return nil, err
						}
						_, err = conn.Exec(ctx, lose)
						return conn.Release, err
					})
					discard(t, 4, func(ctx context.Context) (func(), error) {
						conn, err := db.Conn(ctx)
						if err != nil {
							return nil, err
						}
						_, err = conn.ExecContext(ctx, lose)
						return func() { conn.Close() }, err
					})
				}
			}
		})
	}
}

// discard does something with all connections of a pool.
func discard(t *testing.T, n int32, one func(context.Context) (release func(), err error)) {
	t.Helper()
	for range n {
		release, err := one(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer release()
	}
}

// A handler whose own prepared statement is lost has met no other request: it
// failed, and no retry is promised to do better.
func TestHandlersThatLoseTheirStatements(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		l := d.open(t, server.DSN(create(t)), 0)
		g := rig.NewGuard(t, rig.NewEngine(t, l), func(p *runtime.Policy) { p.Failure, p.Retry = runtime.FailureStore, 3 })
		runs := 0
		var result runtime.Result
		var err error
		if native, ok := l.(runtime.TxLedger[pgx.Tx]); ok {
			result, err = runtime.DoTx(t.Context(), g, native, rig.Call("k"), func(ctx context.Context, tx pgx.Tx) (runtime.Answer, error) {
				runs++
				_, err := tx.Exec(ctx, "EXECUTE never_prepared")
				return runtime.Answer{}, err
			})
		} else {
			result, err = runtime.DoTx(t.Context(), g, l.(runtime.TxLedger[*sql.Tx]), rig.Call("k"), func(ctx context.Context, tx *sql.Tx) (runtime.Answer, error) {
				runs++
				_, err := tx.ExecContext(ctx, "EXECUTE never_prepared")
				return runtime.Answer{}, err
			})
		}
		var own *runtime.Error
		if runs != 1 || rig.Status(result, err) != 500 || errors.As(err, &own) && own.Code == runtime.CodeLedgerUnavailable {
			t.Errorf("%d runs, %d, %v; want one, which failed", runs, rig.Status(result, err), err)
		}
	})
}
