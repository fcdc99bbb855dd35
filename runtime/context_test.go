package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/memory"
)

// The handler's deadline counts from before the claim was sent, so a slow
// ledger shortens it and never lets it pass the lease.
func TestDeadlineLiesInsideTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.ledger.insert = func(ctx context.Context, c runtime.Claim) (runtime.Claimed, bool, error) {
			time.Sleep(10 * time.Second)
			return g.ledger.Ledger.Insert(ctx, c)
		}
		start := time.Now()
		h := g.typed(policy(), func(ctx context.Context) (*runtime.Response, error) {
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) || time.Since(start) != 25*time.Second {
				t.Errorf("ended after %v: %v", time.Since(start), context.Cause(ctx))
			}
			time.Sleep(time.Second)
			return created(ctx)
		})
		if w := do(h, request("k", "")); w.Code != 201 {
			t.Errorf("an overdue handler must be waited for: %d %s", w.Code, w.Body)
		}
		if !strings.Contains(g.log.String(), "passed its deadline") || !strings.Contains(g.events.kinds(), "overdue") {
			t.Errorf("log %s, events %s", g.log, g.events.kinds())
		}
	})
}

func TestDerivedKeyIsStable(t *testing.T) {
	g := newRig(t)
	p := policy()
	p.Failure = runtime.FailureRelease
	var keys []string
	h := g.typed(p, func(ctx context.Context) (*runtime.Response, error) {
		for _, step := range []string{"authorize", "capture"} {
			key, err := runtime.DerivedKey(ctx, step)
			if err != nil {
				t.Error(err)
			}
			keys = append(keys, key)
		}
		return nil, errors.New("again")
	})
	do(h, request("k", ""))
	do(h, request("k", ""))
	if len(keys) != 4 || keys[0] != keys[2] || keys[1] != keys[3] || keys[0] == keys[1] || len(keys[0]) != 43 {
		t.Errorf("keys %q", keys)
	}
}

// The vectors were made by an independent implementation of the format that
// [runtime.DerivedKey] documents.
func TestDerivedKeyVectors(t *testing.T) {
	text, err := os.ReadFile("testdata/derived_keys.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct{ Principal, Scope, Key, Step, Derived string }
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		engine, err := runtime.NewEngine(memory.New(), quiet)
		if err != nil {
			t.Fatal(err)
		}
		p := policy()
		if v.Scope != "" {
			p.Scope, p.Operation = runtime.ScopeOperation, v.Scope
		}
		guard, err := engine.Guard(p)
		if err != nil {
			t.Fatal(err)
		}
		call := runtime.Call{Principal: v.Principal, Key: v.Key, Fingerprint: func(runtime.Rule) [32]byte { return [32]byte{} }}
		_, err = guard.Do(t.Context(), call, func(ctx context.Context) (runtime.Answer, error) {
			if derived, err := runtime.DerivedKey(ctx, v.Step); err != nil || derived != v.Derived {
				t.Errorf("%+v: %s, %v", v, derived, err)
			}
			return runtime.Answer{}, nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if len(vectors) < 8 {
		t.Errorf("%d vectors", len(vectors))
	}
}
