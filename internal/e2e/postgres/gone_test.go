package postgres_test

import (
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/rig"
)

// A handler that deletes its own claim (an operator's script in the guise of
// one) has nothing left to complete: the completion must not put a row there in
// its place.
func TestCompletionWithoutItsRow(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		l := d.open(t, server.DSN(create(t)), 0)
		f := rig.Insert(t, l, "k")
		x := begin(t, l, f)
		if err := x.Handle().exec(t.Context(), "DELETE FROM idempotency_keys"); err != nil {
			t.Fatal(err)
		}
		if stands, err := x.Complete(t.Context(), rig.Completion(f, []byte("answer"))); stands || err != nil {
			t.Errorf("Complete without a row = %v, %v; want it lost", stands, err)
		}
		if err := x.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
		if row := rig.Read(t, l, "k"); row.Completed || row.Owner != f.Owner {
			t.Errorf("after the rollback the row is %+v", row)
		}
	})
}
