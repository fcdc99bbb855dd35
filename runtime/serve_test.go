package runtime_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/idemgen/idemgen/runtime"
)

// policy is the default, without sweeps, which run when they like.
func policy() runtime.Policy {
	p := runtime.DefaultPolicy("POST /v1/orders")
	p.Sweep = 0
	return p
}

func TestFirstAndReplay(t *testing.T) {
	g := newRig(t)
	h := g.typed(policy(), created)
	first := do(h, request("k", `{}`))
	if first.Code != 201 || first.Header().Get("Location") != "/v1/orders/7" || first.Body.String() != `{"id":7}` {
		t.Fatalf("first answer: %d %s %s", first.Code, first.Header(), first.Body)
	}
	wantReplay(t, first, do(h, request("k", `{}`)))
	if g.runs != 1 {
		t.Errorf("%d runs", g.runs)
	}
	if got := g.events.kinds(); got != "claimed completed replayed" {
		t.Errorf("events: %s", got)
	}
}

func TestOptionalKey(t *testing.T) {
	g := newRig(t)
	p := policy()
	p.KeyOptional = true
	h := g.typed(p, func(ctx context.Context) (*runtime.Response, error) {
		if runtime.Generation(ctx) != 0 || runtime.Key(ctx) != "" || runtime.Principal(ctx) != "alice" {
			t.Errorf("generation %d, key %q, principal %q", runtime.Generation(ctx), runtime.Key(ctx), runtime.Principal(ctx))
		}
		if _, err := runtime.DerivedKey(ctx, "pay"); err == nil {
			t.Error("a key was derived from nothing")
		}
		return &runtime.Response{Header: http.Header{"X-Any": {"1"}}}, nil
	})
	for range 2 {
		if w := do(h, request("", "")); w.Code != 201 || w.Header().Get("X-Any") != "1" {
			t.Errorf("got %d %s", w.Code, w.Header())
		}
	}
	standard := g.standard(p, func(w http.ResponseWriter, r *http.Request) { w.Write(readAll(t, r.Body)) })
	if w := do(standard, request("", "abc")); w.Body.String() != "abc" {
		t.Errorf("standard handler got %q", w.Body)
	}
	if g.runs != 3 || g.events.kinds() != "" {
		t.Errorf("%d runs, events %q", g.runs, g.events.kinds())
	}
}
