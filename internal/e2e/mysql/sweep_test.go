package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// Sweepers beside takeovers and claims of what they sweep: a row that a claim
// has won is there, as the claim left it, whatever the sweepers do.
func TestSweepersBesideClaims(t *testing.T) {
	const rounds, keys, sweepers = 500, 3, 3
	l, db := newLedger(t, 0)
	var retried atomic.Int64
	l.NotifyRetry(func(context.Context, string, error) { retried.Add(1) })
	older := age(t, db)
	for round := range rounds {
		// One row to take over, and others that the sweepers may have.
		stale := insert(t, l, "stale")
		if held, err := l.EndLease(t.Context(), stale); err != nil || !held {
			t.Fatal(held, err)
		}
		if round == 0 {
			for k := range keys {
				insert(t, l, fmt.Sprint("old", k))
			}
		}
		older(lease + retain - time.Hour) // the stale row can be taken over still
		expire(t, db, "old0", "old1", "old2")
		rows := map[string]runtime.Row{}
		for k := range keys {
			key := fmt.Sprint("old", k)
			rows[key] = read(t, l, key)
		}
		claims := make([]runtime.Claim, keys)
		fences := make([]runtime.Fence, keys)
		taken := newClaim("stale")
		var takenFence runtime.Fence
		together(keys+sweepers+1, func(i int) {
			switch {
			case i < keys:
				key := fmt.Sprint("old", i)
				claims[i] = newClaim(key)
				row := rows[key]
				seen := runtime.Fence{ID: id(key), Generation: row.Generation, Owner: row.Owner}
				claimed, won, err := l.Reuse(context.Background(), seen, claims[i])
				if err == nil && !won {
					claimed, won, err = l.Insert(context.Background(), claims[i])
				}
				if err != nil || !won {
					t.Errorf("round %d: a key that was done with was not won: %v, %v", round, won, err)
				}
				fences[i] = fence(claims[i], claimed)
			case i < keys+sweepers:
				if _, err := l.Sweep(context.Background(), 5); err != nil {
					t.Errorf("round %d: sweep: %v", round, err)
				}
			default:
				claimed, won, err := l.TakeOver(context.Background(), stale, taken)
				if err != nil || !won {
					t.Errorf("round %d: take over: %v, %v", round, won, err)
				}
				takenFence = fence(taken, claimed)
			}
		})
		for i := range keys {
			if row := read(t, l, claims[i].Key); row.Owner != claims[i].Owner || row.Completed || row.Generation != fences[i].Generation {
				t.Fatalf("round %d: the row of a live claim is %+v", round, row)
			}
		}
		if row := read(t, l, "stale"); row.Owner != taken.Owner {
			t.Fatalf("round %d: the row that was taken over is %+v", round, row)
		}
		if held, err := l.Release(t.Context(), takenFence); err != nil || !held {
			t.Fatal(held, err)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d statements were sent again", retried.Load())
}

// A row that a transaction holds is passed over, and the rest is swept.
func TestLockedRowDoesNotStopASweep(t *testing.T) {
	l, db := newLedger(t, 0)
	f := insert(t, l, "held")
	expire(t, db, "held")
	for k := range 5 {
		insert(t, l, fmt.Sprint("k", k))
	}
	tx, held, err := l.Begin(t.Context(), f, lease)
	if err != nil || !held {
		t.Fatal(held, err)
	}
	expire(t, db, "k0", "k1", "k2", "k3", "k4")
	other, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, statement := range []string{"BEGIN", "SELECT 1 FROM idempotency_keys WHERE principal = 'alice' AND scope = '' AND `key` = 'k0' FOR UPDATE"} {
		if _, err := other.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := l.Sweep(t.Context(), 100); err != nil || n != 4 {
		t.Errorf("Sweep beside locked rows = %d, %v; want 4", n, err)
	}
	if _, err := other.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if n, err := l.Sweep(t.Context(), 100); err != nil || n != 1 {
		t.Errorf("Sweep after the lock = %d, %v; want 1", n, err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
}

// Rows whose keys are remembered for long cost a sweep nothing.
func TestSweepReadsOnlyWhatItChanges(t *testing.T) {
	const tombstones, limit = 100_000, 20
	l, db := newLedger(t, 1)
	if _, err := db.Exec(`INSERT INTO idempotency_keys (
			principal, scope, ` + "`key`" + `, operation, policy, fingerprint, status, generation, owner,
			claimed_at, lease_until, expires_at, gone_at, sweep_at, recovery_state, response_headers, response_body, created_at
		) SELECT 'alice', '', CONCAT('tombstone ', seq), 'o', 'p', REPEAT('f', 32), 'completed', 1, REPEAT('o', 16),
			1, 1, 1, (UNIX_TIMESTAMP() + 86400 * 30) * 1000 + seq, (UNIX_TIMESTAMP() + 86400 * 30) * 1000 + seq, '', '', '', 1
		FROM seq_1_to_100000`); err != nil {
		t.Fatal(err)
	}
	for k := range 2 * limit {
		key := fmt.Sprint("k", k)
		insert(t, l, key)
		expire(t, db, key)
	}
	before := handlerReads(t, db)
	if n, err := l.Sweep(t.Context(), limit); err != nil || n != limit {
		t.Fatalf("Sweep = %d, %v", n, err)
	}
	// What is due is found, read once more through the derived table, and
	// changed, for each of the sweep's three statements.
	if reads := handlerReads(t, db) - before; reads > 10*limit {
		t.Errorf("a sweep of %d rows read %d, beside %d tombstones", limit, reads, tombstones)
	} else {
		t.Logf("a sweep of %d rows read %d", limit, reads)
	}
	before = handlerReads(t, db)
	for range 3 {
		if _, err := l.Sweep(t.Context(), limit); err != nil {
			t.Fatal(err)
		}
	}
	if reads := handlerReads(t, db) - before; reads > 10*limit {
		t.Errorf("sweeps of %d rows and then of nothing read %d", limit, reads)
	}
}

// handlerReads is how many rows and index entries a pool's only connection has
// read.
func handlerReads(t testing.TB, db *sql.DB) (n int64) {
	t.Helper()
	err := db.QueryRow("SELECT SUM(VARIABLE_VALUE) FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME LIKE 'HANDLER\\_READ\\_%'").Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
