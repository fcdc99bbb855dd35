package postgres_test

import (
	"context"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/postgres/emitted/native"
	"github.com/idemgen/idemgen/internal/e2e/postgres/emitted/standard"
	"github.com/idemgen/idemgen/prove/servers"
	"github.com/idemgen/idemgen/runtime/pgxledger"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// A server, a session or a table that may lose what was acknowledged is refused by
// both drivers, unless that is meant.
func TestWeakDurabilityIsRefused(t *testing.T) {
	unlogged, parts := create(t), create(t)
	openStandard(t, openSQL(t, server.DSN(unlogged), 1))
	openStandard(t, openSQL(t, server.DSN(parts), 1))
	partition(t, parts)
	for database, statement := range map[string]string{
		unlogged: "ALTER TABLE idempotency_keys SET UNLOGGED",
		parts:    "ALTER TABLE part3 SET UNLOGGED",
	} {
		if err := server.Run(database, statement); err != nil {
			t.Fatal(err)
		}
	}
	wantWeak(t, server.DSN(create(t, "synchronous_commit TO off")), "synchronous_commit is off")
	wantWeak(t, server.DSN(create(t), "options='-c synchronous_commit=off'"), "synchronous_commit is off")
	wantWeak(t, server.DSN(unlogged), "unlogged")
	wantWeak(t, server.DSN(parts), "unlogged")
	for _, setting := range []string{"fsync", "full_page_writes"} {
		weak, err := servers.StartPostgres(setting + "=off")
		if err != nil {
			t.Fatal(err)
		}
		defer weak.Stop()
		wantWeak(t, weak.DSN("postgres"), setting+" = off")
	}
	for _, setting := range []string{"on", "local", "remote_write", "remote_apply"} {
		openStandard(t, openSQL(t, server.DSN(create(t, "synchronous_commit TO "+setting)), 1))
	}
}

func wantWeak(t *testing.T, dsn, says string) {
	t.Helper()
	ctx := context.Background()
	pool, db := openPool(t, dsn, 1), openSQL(t, dsn, 1)
	_, err := native.Open(ctx, pool)
	_, sqlErr := standard.Open(ctx, db)
	for _, err := range []error{err, sqlErr} {
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "WithWeakDurability") {
			t.Errorf("Open says %v; want %q", err, says)
		}
	}
	if _, err := native.Open(ctx, pool, pgxledger.WithWeakDurability()); err != nil {
		t.Errorf("%s, where it is meant: %v", says, err)
	}
	if _, err := standard.Open(ctx, db, sqlledger.WithWeakDurability()); err != nil {
		t.Errorf("%s, where it is meant: %v", says, err)
	}
}
