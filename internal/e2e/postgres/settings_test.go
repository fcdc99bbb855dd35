package postgres_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/idemgen/idemgen/internal/e2e/rig"
	"github.com/idemgen/idemgen/runtime"
)

// doTx runs statements in a handler's transaction, through either driver.
func doTx(t *testing.T, g *runtime.Guard, l ledger, key string, answer runtime.Answer, statements ...string) (runtime.Result, error) {
	t.Helper()
	if native, ok := l.(runtime.TxLedger[pgx.Tx]); ok {
		return runtime.DoTx(t.Context(), g, native, rig.Call(key), func(ctx context.Context, tx pgx.Tx) (runtime.Answer, error) {
			for _, statement := range statements {
				if _, err := tx.Exec(ctx, statement); err != nil {
					return runtime.Answer{}, err
				}
			}
			return answer, nil
		})
	}
	return runtime.DoTx(t.Context(), g, l.(runtime.TxLedger[*sql.Tx]), rig.Call(key), func(ctx context.Context, tx *sql.Tx) (runtime.Answer, error) {
		for _, statement := range statements {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return runtime.Answer{}, err
			}
		}
		return answer, nil
	})
}

// modes are the two modes of transactions.
var modes = map[string]func(*runtime.Policy){
	"twice": func(p *runtime.Policy) { p.Failure = runtime.FailureRelease },
	"once":  func(p *runtime.Policy) { p.Failure, p.Once = runtime.FailureRelease, true },
}

// A handler that works in a tenant's schema, or as a tenant's role, leaves that
// behind when it returns: its answer is stored in our table, by who owns it.
func TestHandlersThatChangeTheirSettings(t *testing.T) {
	for name, statements := range map[string][]string{
		"search path":          {"SET LOCAL search_path TO tenant", "INSERT INTO orders VALUES (1)"},
		"search path, session": {"SET search_path TO tenant", "INSERT INTO orders VALUES (1)", "SET search_path TO DEFAULT"},
		"an empty search path": {"SET LOCAL search_path TO ''", "INSERT INTO tenant.orders VALUES (1)"},
		"role":                 {"SET LOCAL ROLE tenant", "INSERT INTO tenant.orders VALUES (1)"},
		"both":                 {"SET LOCAL ROLE tenant", "SET LOCAL search_path TO tenant, pg_catalog", "INSERT INTO orders VALUES (1)"},
		"everything is reset":  {"SET LOCAL search_path TO tenant", "INSERT INTO orders VALUES (1)", "RESET ALL"},
	} {
		t.Run(name, func(t *testing.T) {
			eachDriver(t, func(t *testing.T, d driver) {
				database := create(t)
				for _, statement := range []string{
					"CREATE ROLE tenant", "CREATE SCHEMA tenant", "CREATE TABLE tenant.orders (n integer)",
					"GRANT USAGE ON SCHEMA tenant TO tenant", "GRANT ALL ON tenant.orders TO tenant",
				} {
					if err := server.Run(database, statement); err != nil && !strings.Contains(err.Error(), "already exists") {
						t.Fatal(err)
					}
				}
				l := d.open(t, server.DSN(database), 1)
				engine := rig.NewEngine(t, l)
				for mode, change := range modes {
					g := rig.NewGuard(t, engine, change)
					result, err := doTx(t, g, l, mode, runtime.Answer{Status: 201}, statements...)
					if rig.Status(result, err) != 201 || result.Replayed {
						t.Errorf("%s: %d, %v", mode, rig.Status(result, err), err)
					}
					result, err = doTx(t, g, l, mode, runtime.Answer{Status: 201}, statements...)
					if rig.Status(result, err) != 201 || !result.Replayed {
						t.Errorf("%s: a retry got %d, %v", mode, rig.Status(result, err), err)
					}
				}
				var orders int
				db := openSQL(t, server.DSN(database), 1)
				if err := db.QueryRow("SELECT count(*) FROM tenant.orders").Scan(&orders); err != nil || orders != 2 {
					t.Errorf("%d orders, %v; want one a mode", orders, err)
				}
				t.Cleanup(func() {
					if err := server.Run(database, "DROP OWNED BY tenant"); err != nil {
						t.Error(err)
					}
				})
			})
		})
	}
}

// An answer that the table does not take is told as that, to its caller and to
// every retry, and its effect is undone.
func TestAnswersThatTheTableDoesNotTake(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		database := create(t)
		l := d.open(t, server.DSN(database), 0)
		for _, statement := range []string{
			"CREATE TABLE orders (n integer)",
			"ALTER TABLE idempotency_keys ADD CONSTRAINT no_teapots CHECK (response_status <> 418)",
		} {
			if err := server.Run(database, statement); err != nil {
				t.Fatal(err)
			}
		}
		engine := rig.NewEngine(t, l)
		for mode, change := range modes {
			g := rig.NewGuard(t, engine, change)
			for range 2 {
				result, err := doTx(t, g, l, mode, runtime.Answer{Status: 418}, "INSERT INTO orders VALUES (1)")
				if status := rig.Status(result, err); status != 500 || !strings.Contains(string(result.Answer.Body), runtime.CodeResponseTooLarge) {
					t.Errorf("%s: %d %s, %v; want the answer told as one that cannot be kept", mode, status, result.Answer.Body, err)
				}
			}
		}
		claims := rig.NewGuard(t, engine, nil)
		for range 2 {
			result, err := claims.Do(t.Context(), rig.Call("claim"), func(context.Context) (runtime.Answer, error) { return runtime.Answer{Status: 418}, nil })
			if status := rig.Status(result, err); status != 500 || !strings.Contains(string(result.Answer.Body), runtime.CodeResponseTooLarge) {
				t.Errorf("claim: %d %s, %v; want the answer told as one that cannot be kept", status, result.Answer.Body, err)
			}
		}
		var orders int
		if err := openSQL(t, server.DSN(database), 1).QueryRow("SELECT count(*) FROM orders").Scan(&orders); err != nil || orders != 0 {
			t.Errorf("%d orders, %v; want none", orders, err)
		}
	})
}
