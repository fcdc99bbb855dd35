package mysql_test

import (
	"fmt"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/idemgen/idemgen/internal/e2e/mysql/emitted/ledger"
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
			db := open(t, server.DSN(database), 1)
			if _, err := ledger.Open(t.Context(), db); err != nil {
				t.Fatal(err)
			}
			user := "'clerk_" + c.name + "'@'%'"
			if err := server.Run(
				"CREATE USER "+user+" IDENTIFIED BY 'clerk'",
				fmt.Sprintf("GRANT %s ON %s.idempotency_keys TO %s", c.grants, database, user),
				fmt.Sprintf("GRANT SELECT ON %s.idempotency_keys_schema TO %s", database, user),
			); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := server.Run("DROP USER " + user); err != nil {
					t.Error(err)
				}
			})
			config, err := driver.ParseDSN(server.DSN(database))
			if err != nil {
				t.Fatal(err)
			}
			config.User, config.Passwd = "clerk_"+c.name, "clerk"
			_, err = ledger.Open(t.Context(), open(t, config.FormatDSN(), 1), sqlledger.WithSchemaManaged())
			if c.lacks == "" && err != nil || c.lacks != "" && (err == nil || !strings.Contains(err.Error(), "needs SELECT, INSERT, UPDATE and DELETE")) {
				t.Errorf("opened with %v; want it to lack %q", err, c.lacks)
			}
			var rows int
			if err := db.QueryRow("SELECT count(*) FROM idempotency_keys").Scan(&rows); err != nil || rows != 0 {
				t.Errorf("%d rows are left, %v", rows, err)
			}
		})
	}
}
