package ledgers_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/idemgen/idemgen/internal/e2e/ledgers/emitted/plain"
	"github.com/idemgen/idemgen/internal/e2e/ledgers/harness"
	"github.com/idemgen/idemgen/internal/e2e/rig"
)

// A sweep is two statements on SQLite, and anything may come between them: a row
// that becomes due there, and must still be remembered, is none of the second
// one's.
func TestSweepDeletesNothingThatMustBeRemembered(t *testing.T) {
	p := harness.File(t, mattn, filepath.Join(t.TempDir(), "ledger.db"))
	l, err := plain.Open(t.Context(), p.Writer)
	if err != nil {
		t.Fatal(err)
	}
	c := rig.NewClaim("k")
	c.Gone = time.Hour
	if _, won, err := l.Insert(t.Context(), c); !won || err != nil {
		t.Fatal(won, err)
	}
	age := harness.Age(t, p.Writer, "idempotency_keys")
	for _, step := range []struct {
		age     time.Duration
		deleted int64
	}{{rig.Lease + rig.Retain, 0}, {time.Hour, 1}} {
		age(step.age)
		if n, err := plain.New().SweepDelete(t.Context(), p.Writer, plain.SweepDeleteParams{MaxRows: 10}); n != step.deleted || err != nil {
			t.Errorf("%v later SweepDelete = %d, %v; want %d", step.age, n, err, step.deleted)
		}
	}
}
