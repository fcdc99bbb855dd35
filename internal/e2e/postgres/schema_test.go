package postgres_test

import (
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/postgres/emitted/native"
	"github.com/idemgen/idemgen/internal/e2e/postgres/emitted/qualified"
	"github.com/idemgen/idemgen/internal/e2e/rig"
	"github.com/idemgen/idemgen/runtime/pgxledger"
)

// Many processes start at once on an empty database.
func TestSchemaIsCreatedOnce(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		const starts = 16
		dsn := server.DSN(create(t))
		ledgers := make([]ledger, starts)
		rig.Together(starts, func(i int) { ledgers[i] = d.open(t, dsn, 2) })
		if t.Failed() {
			return
		}
		rig.Insert(t, ledgers[0], "k")
		rig.Read(t, ledgers[starts-1], "k")
	})
}

// A table may stand in a schema of its own, and beside another ledger's.
func TestTableOfASchema(t *testing.T) {
	database := create(t)
	if err := server.Run(database, "CREATE SCHEMA shop_keys"); err != nil {
		t.Fatal(err)
	}
	pool := openPool(t, server.DSN(database), 0)
	l, err := qualified.Open(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	f := rig.Insert(t, l, "k")
	if err := server.Run(database, "UPDATE shop_keys.keys SET lease_until = 1, expires_at = 1, gone_at = 1, sweep_at = 1"); err != nil {
		t.Fatal(err)
	}
	x := begin(t, l, f)
	x.finish(t, f)
	rig.Insert(t, openNative(t, pool), "k")
	if counts, err := l.Counts(t.Context()); err != nil || len(counts) != 1 || counts[0].Rows != 1 {
		t.Errorf("Counts = %+v, %v", counts, err)
	}
	if n, err := l.Erase(t.Context(), "alice", 10); err != nil || n != 1 {
		t.Errorf("Erase = %d, %v", n, err)
	}
}

// A schema that somebody else manages is not created, and one of another
// version is refused.
func TestSchemaIsChecked(t *testing.T) {
	database := create(t)
	pool := openPool(t, server.DSN(database), 0)
	if _, err := native.Open(t.Context(), pool, pgxledger.WithSchemaManaged()); err == nil {
		t.Error("a ledger opened without its schema")
	}
	openNative(t, pool)
	if _, err := native.Open(t.Context(), pool, pgxledger.WithSchemaManaged()); err != nil {
		t.Error(err)
	}
	if err := server.Run(database, "UPDATE idempotency_keys_schema SET version = 2"); err != nil {
		t.Fatal(err)
	}
	if _, err := native.Open(t.Context(), pool); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("a schema of version 2 gave %v", err)
	}
}

// A start waits for no writer: a schema that stands is only read.
func TestStartBesideAWriter(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		dsn := server.DSN(create(t))
		l := d.open(t, dsn, 0)
		f := rig.Insert(t, l, "k")
		x := begin(t, l, f)
		rig.Read(t, d.open(t, dsn, 0), "k")
		if stands, err := x.Complete(t.Context(), rig.Completion(f, []byte{})); err != nil || !stands {
			t.Fatal(stands, err)
		}
		rig.Read(t, d.open(t, dsn, 0), "k")
		if err := x.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
