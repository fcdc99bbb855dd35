package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idemgen/idemgen/internal/e2e/rig"
	"github.com/idemgen/idemgen/runtime"
)

// Sweepers beside takeovers and claims of what they sweep: a row that a claim
// has won is there, as the claim left it, whatever the sweepers do.
func TestSweepersBesideClaims(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		const rounds, keys, sweepers = 500, 3, 3
		database := create(t)
		l, db := d.open(t, server.DSN(database), 0), openSQL(t, server.DSN(database), 1)
		var retried atomic.Int64
		l.NotifyRetry(func(context.Context, string, error) { retried.Add(1) })
		older := age(t, db)
		for k := range keys {
			rig.Insert(t, l, fmt.Sprint("old", k))
		}
		for round := range rounds {
			// One row to take over, and others that the sweepers may have.
			stale := rig.Insert(t, l, "stale")
			older(rig.Lease + rig.Retain - time.Hour) // the stale row can be taken over still
			expire(t, db, "old0", "old1", "old2")
			rows := make([]runtime.Row, keys)
			for k := range keys {
				rows[k] = rig.Read(t, l, fmt.Sprint("old", k))
			}
			claims, fences := make([]runtime.Claim, keys), make([]runtime.Fence, keys)
			taken := rig.NewClaim("stale")
			var takenFence runtime.Fence
			rig.Together(keys+sweepers+1, func(i int) {
				switch {
				case i < keys:
					claims[i] = rig.NewClaim(fmt.Sprint("old", i))
					seen := runtime.Fence{ID: claims[i].ID, Generation: rows[i].Generation, Owner: rows[i].Owner}
					claimed, won, err := l.Reuse(context.Background(), seen, claims[i])
					if err == nil && !won {
						claimed, won, err = l.Insert(context.Background(), claims[i])
					}
					if err != nil || !won {
						t.Errorf("round %d: a key that was done with was not won: %v, %v", round, won, err)
					}
					fences[i] = rig.Fence(claims[i], claimed)
				case i < keys+sweepers:
					if _, err := l.Sweep(context.Background(), 5); err != nil {
						t.Errorf("round %d: sweep: %v", round, err)
					}
				default:
					claimed, won, err := l.TakeOver(context.Background(), stale, taken)
					if err != nil || !won {
						t.Errorf("round %d: take over: %v, %v", round, won, err)
					}
					takenFence = rig.Fence(taken, claimed)
				}
			})
			for i := range keys {
				if row := rig.Read(t, l, claims[i].Key); row.Owner != claims[i].Owner || row.Completed || row.Generation != fences[i].Generation {
					t.Fatalf("round %d: the row of a live claim is %+v", round, row)
				}
			}
			if row := rig.Read(t, l, "stale"); row.Owner != taken.Owner {
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
	})
}

// A row that a transaction holds is passed over, and the rest is swept, however
// small the sweep is.
func TestLockedRowDoesNotStopASweep(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		database := create(t)
		l, db := d.open(t, server.DSN(database), 0), openSQL(t, server.DSN(database), 1)
		f := rig.Insert(t, l, "held")
		expire(t, db, "held")
		x := begin(t, l, f)
		for k := range 4 {
			key := fmt.Sprint("k", k)
			rig.Insert(t, l, key)
			expire(t, db, key)
		}
		for range 4 {
			if n, err := l.Sweep(t.Context(), 1); err != nil || n != 1 {
				t.Fatalf("Sweep beside a locked row = %d, %v; want 1", n, err)
			}
		}
		if n, err := l.Sweep(t.Context(), 1); err != nil || n != 0 {
			t.Fatalf("Sweep of nothing but a locked row = %d, %v; want 0", n, err)
		}
		if err := x.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, err := l.Sweep(t.Context(), 1); err != nil || n != 1 {
			t.Errorf("Sweep after the lock = %d, %v; want 1", n, err)
		}
	})
}

// Rows whose keys are remembered for long cost a sweep nothing, whatever plan
// the server has made of it, and when: here before the table was filled, and
// without statistics.
func TestSweepReadsOnlyWhatItChanges(t *testing.T) {
	for _, plans := range []string{"auto", "force_generic_plan"} {
		t.Run(plans, func(t *testing.T) {
			each(t, func(t *testing.T, d driver) {
				const tombstones, limit = 100_000, 20
				database := create(t, "plan_cache_mode TO '"+plans+"'")
				l, tell := openTold(t, d, server.DSN(database))
				db := openSQL(t, server.DSN(database), 1)
				for range 10 {
					if _, err := l.Sweep(t.Context(), limit); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := db.Exec(`ALTER TABLE idempotency_keys SET (autovacuum_enabled = off);
					INSERT INTO idempotency_keys (
						principal, scope, key, operation, policy, fingerprint, status, generation, owner,
						claimed_at, lease_until, expires_at, gone_at, sweep_at, created_at
					) SELECT 'alice', '', ('tombstone ' || n)::bytea, 'o', 'p', repeat('f', 32)::bytea, 'completed', 1, repeat('o', 16)::bytea,
						1, 1, 1, 32503680000000 + n, 32503680000000 + n, 1
					FROM generate_series(1, 100000) AS n`); err != nil {
					t.Fatal(err)
				}
				for k := range 2 * limit {
					key := fmt.Sprint("k", k)
					rig.Insert(t, l, key)
					expire(t, db, key)
				}
				for _, want := range []int{limit, limit, 0, 0} {
					before := rowsRead(t, tell, db)
					if n, err := l.Sweep(t.Context(), limit); err != nil || n != want {
						t.Fatalf("Sweep = %d, %v; want %d", n, err, want)
					}
					// Each row is found by the index and then by its place.
					if reads := rowsRead(t, tell, db) - before; reads > 5*limit {
						t.Errorf("a sweep of %d rows read %d, beside %d tombstones", want, reads, tombstones)
					} else if reads < int64(want) {
						t.Errorf("a sweep of %d rows is said to have read %d", want, reads)
					}
				}
			})
		})
	}
}

// rowsRead is how many rows of the table have been read, by whatever way. The
// ledger's session is asked to tell of its reads now.
func rowsRead(t testing.TB, tell func(statement string) error, db *sql.DB) (n int64) {
	t.Helper()
	if err := tell("SELECT pg_stat_force_next_flush()"); err != nil {
		t.Fatal(err)
	}
	if err := db.QueryRow("SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'idempotency_keys'").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// openTold opens a ledger on one connection, and returns what else runs there.
func openTold(t testing.TB, d driver, dsn string) (ledger, func(statement string) error) {
	t.Helper()
	if d.name != "sql" {
		pool := openPool(t, dsn, 1)
		return openNative(t, pool), func(statement string) error {
			_, err := pool.Exec(context.Background(), statement)
			return err
		}
	}
	db := openSQL(t, dsn, 1)
	return openStandard(t, db), func(statement string) error {
		_, err := db.Exec(statement)
		return err
	}
}
