package postgres_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/idemgen/idemgen/internal/e2e/rig"
	"github.com/idemgen/idemgen/runtime"
)

// beginOnce claims a key in a transaction, through either driver. rollback is
// nil when it did not begin.
func beginOnce(l ledger, c runtime.Claim) (rollback func(context.Context) error, won bool, err error) {
	if native, ok := l.(runtime.OnceLedger[pgx.Tx]); ok {
		opened, _, won, err := native.BeginOnce(context.Background(), c)
		if !won || err != nil {
			return nil, won, err
		}
		return opened.Rollback, won, nil
	}
	opened, _, won, err := l.(runtime.OnceLedger[sqlTx]).BeginOnce(context.Background(), c)
	if !won || err != nil {
		return nil, won, err
	}
	return opened.Rollback, won, nil
}

// A duplicate of a claim that commits with its effect does not wait for that
// commit, not even for the lock limit: the lock on the key's number says at once
// that somebody is at work on it. The reason in the error is what shows it.
func TestOnceDuplicatesDoNotWait(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		l := d.open(t, server.DSN(create(t)), 0)
		rollback, won, err := beginOnce(l, rig.NewClaim("k"))
		if err != nil || !won {
			t.Fatal(won, err)
		}
		if _, won, err := beginOnce(l, rig.NewClaim("k")); won || err == nil || !strings.Contains(err.Error(), "another transaction claims the key") {
			t.Errorf("BeginOnce beside another = %v, %v; want it told that the key's lock is not free", won, err)
		}
		other, won, err := beginOnce(l, rig.NewClaim("l"))
		if err != nil || !won {
			t.Fatalf("another key: %v, %v", won, err)
		}
		for _, end := range []func(context.Context) error{other, rollback} {
			if err := end(t.Context()); err != nil {
				t.Error(err)
			}
		}
		again, won, err := beginOnce(l, rig.NewClaim("k"))
		if err != nil || !won {
			t.Fatalf("after the rollback: %v, %v", won, err)
		}
		if err := again(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
