package mysql_test

import (
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/mysql/emitted/ledger"
	"github.com/idemgen/idemgen/internal/e2e/rig"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// The statements of docs/monitoring.md run, and the role that they make has all the
// rights that a service needs.
func TestDocumentedStatements(t *testing.T) {
	name := create(t)
	db := open(t, server.DSN(name), 1)
	if _, err := ledger.Open(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Run("DROP ROLE IF EXISTS idem_service", "DROP USER IF EXISTS shop@localhost"); err != nil {
			t.Error(err)
		}
	})
	for _, block := range rig.Documented(t, "mysql") {
		for statement := range strings.SplitSeq(block, ";\n") {
			if strings.TrimSpace(statement) == "" {
				continue
			}
			if _, err := db.Exec(statement); err != nil {
				t.Errorf("%s: %v", statement, err)
			}
		}
	}
	_, rest, _ := strings.Cut(server.DSN(name), "root:")
	password, _, _ := strings.Cut(rest, "@")
	if err := server.Run("CREATE USER shop@localhost IDENTIFIED BY '"+password+"'", "GRANT idem_service TO shop@localhost", "SET DEFAULT ROLE idem_service FOR shop@localhost"); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), open(t, strings.Replace(server.DSN(name), "root:", "shop:", 1), 1), sqlledger.WithSchemaManaged())
	if err != nil {
		t.Fatal(err)
	}
	f := rig.Insert(t, l, "k")
	tx, held, err := l.Begin(t.Context(), f, rig.Lease)
	if err != nil || !held {
		t.Fatal(held, err)
	}
	if stands, err := tx.Complete(t.Context(), rig.Completion(f, []byte("ok"))); err != nil || !stands {
		t.Error(stands, err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := db.Exec("UPDATE idempotency_keys SET expires_at = 1, gone_at = 1, sweep_at = 1"); err != nil {
		t.Fatal(err)
	}
	if n, err := l.Sweep(t.Context(), 10); err != nil || n != 1 {
		t.Errorf("Sweep with least rights = %d, %v", n, err)
	}
}
