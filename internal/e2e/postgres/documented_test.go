package postgres_test

import (
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/postgres/emitted/native"
	"github.com/idemgen/idemgen/internal/e2e/postgres/emitted/standard"
	"github.com/idemgen/idemgen/internal/e2e/rig"
	"github.com/idemgen/idemgen/runtime/pgxledger"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// The statements of docs/monitoring.md run, the role that they make has all the
// rights that a service needs, and the sweep that they define deletes what is over.
func TestDocumentedStatements(t *testing.T) {
	database := create(t)
	l, db := openNative(t, openPool(t, server.DSN(database), 0)), openSQL(t, server.DSN(database), 1)
	for _, key := range []string{"over", "running", "half done"} {
		rig.Insert(t, l, key)
	}
	expire(t, db, "over", "half done")
	advance(t, db)(rig.ID("half done"), "charged")
	if err := server.Run(database, rig.Documented(t, "postgres")...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // before the database is dropped
		if err := server.Run(database, "DROP OWNED BY idem_service", "DROP ROLE idem_service"); err != nil {
			t.Error(err)
		}
	})
	var swept int
	if err := db.QueryRow("SELECT idempotency_keys_sweep(100)").Scan(&swept); err != nil || swept != 1 {
		t.Errorf("the scheduler's sweep deleted %d rows, %v; want 1", swept, err)
	}
	rig.Read(t, l, "running")
	rig.Read(t, l, "half done")

	dsn := server.DSN(database, "options='-c role=idem_service'")
	n, err := native.Open(t.Context(), openPool(t, dsn, 1), pgxledger.WithSchemaManaged())
	if err != nil {
		t.Fatal(err)
	}
	s, err := standard.Open(t.Context(), openSQL(t, dsn, 1), sqlledger.WithSchemaManaged())
	if err != nil {
		t.Fatal(err)
	}
	for name, l := range map[string]ledger{"pgx": n, "sql": s} {
		f := rig.Insert(t, l, name)
		begin(t, l, f).finish(t, f)
		rig.Read(t, l, name)
		g := rig.Insert(t, l, name+" released")
		if held, err := l.Release(t.Context(), g); err != nil || !held {
			t.Error(held, err)
		}
		expire(t, db, name)
		if n, err := l.Sweep(t.Context(), 10); err != nil || n != 1 {
			t.Errorf("Sweep with least rights = %d, %v", n, err)
		}
		if _, err := l.Counts(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
