package runtime_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/idemgen/idemgen/runtime"
)

// counting counts the statements that claims make.
func counting(g *rig, n *int) {
	g.ledger.insert = func(ctx context.Context, c runtime.Claim) (runtime.Claimed, bool, error) {
		*n++
		return g.ledger.Ledger.Insert(ctx, c)
	}
	g.ledger.read = func(ctx context.Context, id runtime.ID) (runtime.Row, bool, error) {
		*n++
		return g.ledger.Ledger.Read(ctx, id)
	}
	g.ledger.takeOver = func(ctx context.Context, seen runtime.Fence, c runtime.Claim) (runtime.Claimed, bool, error) {
		*n++
		return g.ledger.Ledger.TakeOver(ctx, seen, c)
	}
}

func TestStatementsOfAClaim(t *testing.T) {
	hold := func(context.Context) (*runtime.Response, error) {
		return nil, runtime.Hold(fmt.Errorf("unsure"))
	}
	for name, c := range map[string]struct {
		known bool // this process has met the key
		first runtime.Work
		age   bool
		want  int
	}{
		"fresh":                {want: 1},
		"replay, known":        {known: true, first: created, want: 1},
		"replay, unknown":      {first: created, want: 2},
		"in progress, known":   {known: true, first: hold, want: 1},
		"takeover, known":      {known: true, first: hold, age: true, want: 2},
		"takeover, unknown":    {first: hold, age: true, want: 3},
		"fresh, taken for old": {known: true, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			other := newRig(t)
			g := newRig(t)
			if c.first != nil {
				do(g.typed(policy(), c.first), request("k", ""))
			}
			if !c.known {
				// Another process on the same ledger.
				other.ledger.Ledger = g.ledger.Ledger
				other.clock = g.clock
			} else {
				other = g
				if c.first == nil {
					do(g.typed(policy(), func(context.Context) (*runtime.Response, error) {
						return nil, runtime.Release(fmt.Errorf("again"))
					}), request("k", ""))
				}
			}
			if c.age {
				g.clock.move(policy().Lease)
			}
			statements := 0
			counting(other, &statements)
			do(other.typed(policy(), created), request("k", ""))
			if statements != c.want {
				t.Errorf("%d statements, want %d", statements, c.want)
			}
		})
	}
}

// Another process claims and lets go of the key between all of our statements:
// we stop after three.
func TestStatementsAreBounded(t *testing.T) {
	g := newRig(t)
	statements := 0
	g.ledger.insert = func(context.Context, runtime.Claim) (runtime.Claimed, bool, error) {
		statements++
		return runtime.Claimed{}, false, nil
	}
	g.ledger.read = func(context.Context, runtime.ID) (runtime.Row, bool, error) {
		statements++
		return runtime.Row{}, false, nil
	}
	h := g.typed(policy(), created)
	for range 2 { // unknown to the process, then known
		statements = 0
		wantCode(t, do(h, request("k", "")), 409, "idempotency_key_retry")
		if statements != 3 {
			t.Errorf("%d statements, want 3", statements)
		}
	}
	if g.runs != 0 {
		t.Errorf("%d runs", g.runs)
	}
}
