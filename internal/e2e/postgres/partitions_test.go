package postgres_test

import (
	"fmt"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/rig"
	"github.com/idemgen/idemgen/runtime"
)

// The primary key lets the table be partitioned by hash of the principal. A row's
// place is then one of its partition, and every partition has a row of that place:
// a sweep and an erasing take what they mean and nothing else.
func TestPartitionsKeepTheirRows(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		const callers, keys = 20, 10
		database := create(t)
		d.open(t, server.DSN(database), 1)
		partition(t, database)
		l := d.open(t, server.DSN(database), 0)
		ids := make([]runtime.ID, 0, callers*keys)
		for key := range keys {
			for caller := range callers {
				c := rig.NewClaim(fmt.Sprint("k", key))
				c.Principal = fmt.Sprint("caller", caller)
				claimed, won, err := l.Insert(t.Context(), c)
				if err != nil || !won {
					t.Fatal(won, err)
				}
				if stands, err := l.Complete(t.Context(), rig.Completion(rig.Fence(c, claimed), []byte("ok"))); err != nil || !stands {
					t.Fatal(stands, err)
				}
				ids = append(ids, c.ID)
			}
		}
		gone := func(id runtime.ID) bool {
			return id.Principal == "caller3" || id.Principal == "caller5" && id.Key < "k5"
		}
		// All rows are written anew, so that the due ones have places that others have.
		if err := server.Run(database, `WITH all_rows AS (DELETE FROM idempotency_keys RETURNING *)
			INSERT INTO idempotency_keys SELECT (r).* FROM (SELECT r FROM all_rows AS r ORDER BY r.key) AS r`,
			`UPDATE idempotency_keys AS k SET lease_until = CASE WHEN due THEN 1 ELSE lease_until END,
				expires_at = CASE WHEN due THEN 1 ELSE expires_at END, sweep_at = CASE WHEN due THEN 1 ELSE sweep_at END,
				gone_at = CASE WHEN due AND k.key <> 'k0' THEN 1 ELSE gone_at END
			FROM (SELECT principal, key, principal = 'caller5' AND key < 'k5' AS due FROM idempotency_keys) AS d
			WHERE d.principal = k.principal AND d.key = k.key`); err != nil {
			t.Fatal(err)
		}
		if n, err := l.Sweep(t.Context(), callers*keys); err != nil || n != 5 {
			t.Errorf("Sweep = %d, %v; want 5", n, err)
		}
		if n, err := l.Erase(t.Context(), "caller3", callers*keys); err != nil || n != keys {
			t.Errorf("Erase = %d, %v; want %d", n, err, keys)
		}
		lost := 0
		for _, id := range ids {
			row, found, err := l.Read(t.Context(), id)
			switch {
			case err != nil:
				t.Fatal(err)
			case id.Principal == "caller5" && id.Key == "k0":
				if !found || row.Answer.Status != 0 {
					t.Errorf("a remembered row is %+v, %v", row, found)
				}
			case gone(id) == found:
				lost++
			case found && string(row.Answer.Body) != "ok":
				t.Errorf("the answer of %v is %q", id, row.Answer.Body)
			}
		}
		if lost > 0 {
			t.Errorf("%d of %d rows are not what was asked for", lost, len(ids))
		}
	})
}

// partition makes the ledger's table anew, in eight partitions.
func partition(t testing.TB, database string) {
	t.Helper()
	statements := []string{
		"ALTER TABLE idempotency_keys RENAME TO old",
		"CREATE TABLE idempotency_keys (LIKE old INCLUDING ALL) PARTITION BY HASH (principal)",
		"DROP TABLE old",
	}
	for n := range 8 {
		statements = append(statements, fmt.Sprintf("CREATE TABLE part%d PARTITION OF idempotency_keys FOR VALUES WITH (MODULUS 8, REMAINDER %d)", n, n))
	}
	if err := server.Run(database, statements...); err != nil {
		t.Fatal(err)
	}
}
