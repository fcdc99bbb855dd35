package runtime_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// A ledger's clock that is set back makes the lease of a dead owner look longer than
// it was given for. Who reads the row ends it when that length has passed, and not
// before; an owner that renews meanwhile is alive.
func TestClockSetBackDoesNotWedgeAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		p := policy()
		dead := runtime.Claim{ID: runtime.ID{Principal: "alice", Key: "k"}, Terms: runtime.Terms{Lease: p.Lease, Retain: p.Retain}, Owner: runtime.Owner{1}}
		h := g.typed(p, created)
		do(h, request("other", "")) // as a model of what the row says
		row, _, err := g.ledger.Read(context.Background(), runtime.ID{Principal: "alice", Key: "other"})
		if err != nil {
			t.Fatal(err)
		}
		dead.Operation, dead.Policy, dead.Fingerprint = row.Operation, row.Policy, row.Fingerprint
		claimed, won, err := g.ledger.Insert(context.Background(), dead)
		if err != nil || !won {
			t.Fatal(won, err)
		}
		g.clock.move(-time.Hour)
		inProgress := func() {
			t.Helper()
			wantCode(t, do(h, request("k", "")), 409, "idempotency_key_in_progress")
		}
		inProgress() // seen first
		time.Sleep(p.Lease - time.Second)
		inProgress()
		if _, held, err := g.ledger.Renew(context.Background(), runtime.Fence{ID: dead.ID, Generation: claimed.Generation, Owner: dead.Owner},
			runtime.Terms{Lease: 2 * time.Hour, Retain: p.Retain}); err != nil || !held {
			t.Fatal(held, err)
		}
		inProgress() // seen anew
		time.Sleep(p.Lease)
		inProgress() // the lease says that it is longer
		time.Sleep(2 * time.Hour)
		if w := do(h, request("k", "")); w.Code != 201 {
			t.Errorf("after the length of its lease the key got %d %s", w.Code, w.Body)
		}
	})
}
