package postgres_test

import (
	"context"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/postgres/emitted/native"
	"github.com/idemgen/idemgen/internal/e2e/postgres/emitted/standard"
	"github.com/idemgen/idemgen/runtime/pgxledger"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// A grant that is missing is told at the start, and not by the first completion;
// with all that the documentation names, a ledger opens and leaves nothing behind.
func TestGrantsAreCheckedAtTheStart(t *testing.T) {
	for _, c := range []struct{ name, grants, lacks string }{
		{"insert", "SELECT, UPDATE, DELETE", "insert"},
		{"update", "SELECT, INSERT, DELETE", "update"},
		{"delete", "SELECT, INSERT, UPDATE", "delete"},
		{"all", "SELECT, INSERT, UPDATE, DELETE", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			database := create(t)
			openStandard(t, openSQL(t, server.DSN(database), 1)) // makes the schema
			role := "clerk_" + c.name
			for _, statement := range []string{
				"CREATE ROLE " + role + " LOGIN PASSWORD 'clerk'",
				"GRANT " + c.grants + " ON idempotency_keys TO " + role,
				"GRANT SELECT ON idempotency_keys_schema TO " + role,
			} {
				if err := server.Run(database, statement); err != nil {
					t.Fatal(err)
				}
			}
			t.Cleanup(func() {
				if err := server.Run(database, "DROP OWNED BY "+role, "DROP ROLE "+role); err != nil {
					t.Error(err)
				}
			})
			dsn := server.DSN(database, "user="+role, "password=clerk")
			_, throughSQL := standard.Open(context.Background(), openSQL(t, dsn, 1), sqlledger.WithSchemaManaged())
			_, throughPGX := native.Open(context.Background(), openPool(t, dsn, 1), pgxledger.WithSchemaManaged())
			for driver, err := range map[string]error{"sql": throughSQL, "pgx": throughPGX} {
				if c.lacks == "" && err != nil || c.lacks != "" && (err == nil || !strings.Contains(err.Error(), "needs SELECT, INSERT, UPDATE and DELETE")) {
					t.Errorf("%s: opened with %v; want it to lack %q", driver, err, c.lacks)
				}
			}
			var rows int
			if err := openSQL(t, server.DSN(database), 1).QueryRow("SELECT count(*) FROM idempotency_keys").Scan(&rows); err != nil || rows != 0 {
				t.Errorf("%d rows are left, %v", rows, err)
			}
		})
	}
}
