package deploy_test

import (
	"strconv"
	"testing"
)

// owned is a release and its lease in minutes.
type owned struct {
	binary string
	lease  int
}

// ownerDies has a server of one release die in a handler, and one of another
// release for its heir: it keeps away from the claim for as long as the owner's
// lease is, and what it takes over it has for a lease of its own.
func ownerDies(t *testing.T, owner, heir owned, form string) {
	db := newDatabase(t)
	doomed, s := db.start(t, owner.binary), db.start(t, heir.binary)
	r := order("inherited")
	wantBusy := func() {
		t.Helper()
		a := r.want(t, s, 409, "idempotency_key_in_progress")
		wantForm(t, a, form)
		seconds, err := strconv.Atoi(a.retryAfter)
		if most := 60 * min(owner.lease, heir.lease); err != nil || seconds < 1 || seconds > most {
			t.Errorf("Retry-After: %q, want 1 to %d", a.retryAfter, most)
		}
	}
	wantLease := func(generation, minutes int) {
		t.Helper()
		db.wantCount(t, 1, `SELECT count(*) FROM idempotency_keys WHERE generation = $1 AND lease_until - claimed_at = $2`,
			generation, minutes*60*1000)
	}

	// The owner's handler comes to wait in its effect.
	hold, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Rollback()
	if _, err := hold.Exec(`LOCK TABLE orders IN EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	unanswered := make(chan error, 1)
	go func() {
		_, err := r.once(doomed)
		unanswered <- err
	}()
	db.await(t, 1, waiting)
	wantLease(1, owner.lease)
	wantBusy()

	// PostgreSQL does not notice by itself that a client is gone whose statement
	// waits, and would let the statement through in the end.
	doomed.Kill()
	if err := <-unanswered; err == nil {
		t.Fatal("the owner lived to answer")
	}
	db.wantCount(t, 1, `SELECT count(pg_terminate_backend(pid)) FROM (`+waiters+`) AS w`)
	db.await(t, 0, waiting)
	if err := hold.Rollback(); err != nil {
		t.Fatal(err)
	}
	wantBusy()
	if heir.lease < owner.lease {
		db.age(t, heir.lease) // which does not count
		wantBusy()
		db.age(t, owner.lease-heir.lease)
	} else {
		db.age(t, owner.lease)
	}

	first := r.want(t, s, 201, "")
	wantLease(2, heir.lease)
	r.wantReplay(t, s, first)
	r.wantReplay(t, db.start(t, owner.binary), first)
	db.wantCount(t, 1, `SELECT count(*) FROM orders WHERE sku = $1`, r.key)
}

const (
	waiters = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND wait_event_type = 'Lock'`
	waiting = `SELECT count(*) FROM (` + waiters + `) AS w`
)
