package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemgen/idemgen/internal/e2e/postgres/emitted/native"
	"github.com/idemgen/idemgen/internal/e2e/postgres/emitted/standard"
	"github.com/idemgen/idemgen/internal/e2e/rig"
	"github.com/idemgen/idemgen/prove/servers"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/pgxledger"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// hurried opens a ledger whose statements have little time, through a driver.
func hurried(t testing.TB, name, dsn string) ledger {
	t.Helper()
	const limit = 700 * time.Millisecond
	if name == "sql" {
		l, err := standard.Open(context.Background(), openSQL(t, dsn, 4), sqlledger.WithTimeLimit(limit))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l, err := native.Open(context.Background(), openPool(t, dsn, 4), pgxledger.WithTimeLimit(limit))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// order is a request that places an order in the ledger's database. It calls back
// before its work is done.
func order(t testing.TB, g *runtime.Guard, l ledger, key string, work func()) (int, error) {
	const insert = "INSERT INTO orders (key) VALUES ($1)"
	answer := runtime.Answer{Status: 201, Body: []byte("made")}
	var result runtime.Result
	var err error
	if native, ok := l.(runtime.TxLedger[pgx.Tx]); ok {
		result, err = runtime.DoTx(t.Context(), g, native, rig.Call(key), func(ctx context.Context, tx pgx.Tx) (runtime.Answer, error) {
			_, err := tx.Exec(ctx, insert, key)
			work()
			return answer, err
		})
	} else {
		result, err = runtime.DoTx(t.Context(), g, l.(runtime.TxLedger[sqlTx]), rig.Call(key), func(ctx context.Context, tx sqlTx) (runtime.Answer, error) {
			_, err := tx.ExecContext(ctx, insert, key)
			work()
			return answer, err
		})
	}
	return rig.Status(result, err), err
}

// A COMMIT that waits for a standby which is gone ends at the ledger's limit. That
// the server then commits by itself decides nothing: neither its request nor a
// retry, in this process or another, is told of an answer that no standby has. When
// the standby is back, a retry has the answer; after a failover it runs again. In
// neither case is there a second effect.
func TestCommitThatOnlyThePrimaryHas(t *testing.T) {
	primary := mortal(t)
	if err := primary.Run("shop", "CREATE TABLE orders (key text)"); err != nil {
		t.Fatal(err)
	}
	openStandard(t, openSQL(t, primary.DSN("shop"), 1)) // makes the schema
	standby, err := primary.Standby("standby1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { standby.Stop() })
	if err := primary.Run("postgres", "ALTER SYSTEM SET synchronous_standby_names TO 'standby1'", "SELECT pg_reload_conf()"); err != nil {
		t.Fatal(err)
	}
	type asked struct {
		name, key string
		once      bool
	}
	var all []asked
	for _, driver := range []string{"pgx", "sql"} {
		for _, once := range []bool{false, true} {
			for _, ends := range []string{"back", "lost"} {
				all = append(all, asked{driver, fmt.Sprint(driver, " once=", once, " ", ends), once})
			}
		}
	}
	retry := func(s *servers.Postgres, a asked) int {
		t.Helper()
		l := hurried(t, a.name, s.DSN("shop"))
		status, _ := order(t, rig.NewGuard(t, rig.NewEngine(t, l), func(p *runtime.Policy) { p.Once = a.once }), l, a.key, func() {})
		return status
	}
	for _, ends := range []string{"back", "lost"} {
		var cut []asked
		for _, a := range all {
			if a.key != fmt.Sprint(a.name, " once=", a.once, " ", ends) {
				continue
			}
			cut = append(cut, a)
		}
		// Every request is at work when the standby goes.
		gone := make(chan struct{})
		working := make(chan struct{}, len(cut))
		statuses := make([]int, len(cut))
		guards := make([]*runtime.Guard, len(cut))
		ledgers := make([]ledger, len(cut))
		for i, a := range cut {
			ledgers[i] = hurried(t, a.name, primary.DSN("shop"))
			guards[i] = rig.NewGuard(t, rig.NewEngine(t, ledgers[i]), func(p *runtime.Policy) { p.Once = a.once })
		}
		rig.Together(len(cut)+1, func(i int) {
			if i == len(cut) {
				for range cut {
					<-working
				}
				standby.Kill()
				close(gone)
				return
			}
			statuses[i], _ = order(t, guards[i], ledgers[i], cut[i].key, func() {
				working <- struct{}{}
				<-gone
			})
		})
		for i, a := range cut {
			if statuses[i] != 503 {
				t.Errorf("%s: got %d while no standby has its answer; want 503", a.key, statuses[i])
			}
			if status, err := order(t, guards[i], ledgers[i], a.key, func() { t.Errorf("%s: a retry runs", a.key) }); status != 503 && status != 409 {
				t.Errorf("%s: a retry got %d, %v while no standby has its answer; want 503", a.key, status, err)
			}
			if status := retry(primary, a); status != 503 && status != 409 {
				t.Errorf("%s: a retry to another process got %d while no standby has its answer; want 503", a.key, status)
			}
		}
		switch ends {
		case "back":
			if err := standby.Start(); err != nil {
				t.Fatal(err)
			}
		case "lost":
			primary.Kill()
			if err := standby.Promote(); err != nil {
				t.Fatal(err)
			}
			primary = standby
			// The claims of those that commit twice are the standby's, too.
			if err := primary.Run("shop", "UPDATE idempotency_keys SET lease_until = 1 WHERE status = 'pending'"); err != nil {
				t.Fatal(err)
			}
		}
		for _, a := range cut {
			await(t, func() bool { return retry(primary, a) == 201 })
			var effects int
			if err := openSQL(t, primary.DSN("shop"), 1).QueryRow("SELECT count(*) FROM orders WHERE key = $1", a.key).Scan(&effects); err != nil || effects != 1 {
				t.Errorf("%s: %d effects, %v; want 1", a.key, effects, err)
			}
		}
	}
}
