package mysql_test

import (
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/mysql/emitted/ledger"
	"github.com/idemgen/idemgen/internal/e2e/mysql/emitted/qualified"
	"github.com/idemgen/idemgen/runtime/ledgertest"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// Settings under which a ledger could not keep its word are refused at the
// start, on either pool.
func TestSettingsThatAreRefused(t *testing.T) {
	name := create(t)
	good := open(t, server.DSN(name), 0)
	for setting, says := range map[string]string{
		"autocommit=0":                        "autocommit",
		"tx_isolation='READ-UNCOMMITTED'":     "READ-COMMITTED",
		"autocommit=OFF&clientFoundRows=true": "autocommit",
	} {
		bad := open(t, server.DSN(name, setting), 0)
		if _, err := ledger.Open(t.Context(), bad); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("Open with %s: %v", setting, err)
		}
		if _, err := ledger.Open(t.Context(), good, sqlledger.WithReader(bad)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("Open with a reader with %s: %v", setting, err)
		}
	}
	if _, err := ledger.Open(t.Context(), good, sqlledger.WithReader(open(t, server.DSN(name), 0))); err != nil {
		t.Error(err)
	}
}

// A table in another database than that of the connection.
func TestTableInAnotherDatabase(t *testing.T) {
	if err := server.Create("shop_keys"); err != nil {
		t.Fatal(err)
	}
	here := create(t)
	clean := func(t *testing.T) *sqlledger.Ledger {
		t.Helper()
		if err := server.Run("DROP TABLE IF EXISTS shop_keys.`keys`, shop_keys.keys_schema, " + here + ".ledgertest_effects"); err != nil {
			t.Fatal(err)
		}
		l, err := qualified.Open(t.Context(), open(t, server.DSN(here), 0))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := clean(t)
	insert(t, l, "k")
	var n int
	if err := open(t, server.DSN("shop_keys"), 0).QueryRow("SELECT COUNT(*) FROM `keys`").Scan(&n); err != nil || n != 1 {
		t.Fatalf("%d rows in the other database, %v", n, err)
	}
	db := open(t, server.DSN("shop_keys"), 0)
	ledgertest.Run(t, func(t *testing.T) ledgertest.Harness {
		return ledgertest.Harness{Ledger: clean(t), Age: ageOf(t, db, "`keys`"), Advance: advance(t, db, "`keys`")}
	})
	ledgertest.RunTx(t, func(t *testing.T) ledgertest.TxHarness {
		beside := open(t, server.DSN(here), 0)
		return ledgertest.TxHarness{Ledger: clean(t), DB: beside, Age: ageOf(t, db, "`keys`"), Reader: beside}
	})
}

// Many processes may start at once on an empty database.
func TestManyStartsAtOnce(t *testing.T) {
	for range 5 {
		dsn := server.DSN(create(t))
		together(10, func(int) {
			if _, err := ledger.Open(t.Context(), open(t, dsn, 0)); err != nil {
				t.Error(err)
			}
		})
	}
}
