package rig

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// CallersKeep checks on an empty ledger that a caller who keeps as many keys as it
// may is refused new ones, and nothing else. inTx runs work that has the status in
// a transaction, where the ledger has some.
func CallersKeep(t *testing.T, l runtime.OperatorLedger, age func(time.Duration), inTx func(g *runtime.Guard, call runtime.Call, status int) (runtime.Result, error)) {
	t.Helper()
	limit := runtime.WithCallerKept(2, 429)
	policy := func(p *runtime.Policy) { p.Sweep = 0 }
	once := func(p *runtime.Policy) { p.Sweep, p.Once = 0, true }
	// Another engine is another process, which has not met the keys.
	guards := map[string]*runtime.Guard{"this process": NewGuard(t, NewEngine(t, l, limit), policy), "another": NewGuard(t, NewEngine(t, l, limit), policy)}
	g := guards["this process"]
	able, ok := l.(interface{ CanOnce() bool })
	canOnce := inTx != nil && ok && able.CanOnce()
	runs := 0
	made := func(context.Context) (runtime.Answer, error) { runs++; return runtime.Answer{Status: 201}, nil }
	held := func(context.Context) (runtime.Answer, error) {
		return runtime.Answer{}, runtime.Hold(errors.New("unsure"))
	}
	want := func(what string, result runtime.Result, err error, status int) {
		t.Helper()
		if got := max(Status(result, err), result.Answer.Status); got != status {
			t.Errorf("%s: %+v, %v; want %d", what, result, err, status)
		}
		var refused *runtime.Error
		if status == 429 && (!errors.As(err, &refused) || refused.Code != runtime.CodeCallerKept || refused.RetryAfter <= 0) {
			t.Errorf("%s: %v; want it refused for the caller's keys, with Retry-After", what, err)
		}
	}
	do := func(g *runtime.Guard, key string, work func(context.Context) (runtime.Answer, error), status int) {
		t.Helper()
		result, err := g.Do(t.Context(), Call(key), work)
		want(key, result, err, status)
	}
	do(g, "kept", made, 201)
	do(g, "held", held, 500)
	for name, g := range guards {
		t.Log(name)
		do(g, "new", made, 429)
		do(g, "new", made, 429) // which the process has met by now
		do(g, "kept", made, 201)
		do(g, "held", made, 409)
		bob := Call("new of " + name)
		bob.Principal = "bob"
		result, err := g.Do(t.Context(), bob, made)
		want("another caller", result, err, 201)
		if inTx == nil {
			continue
		}
		for mode, change := range map[string]func(*runtime.Policy){"claim": policy, "once": once} {
			tx := NewGuard(t, NewEngine(t, l, limit), change)
			if mode == "once" && !canOnce {
				continue
			}
			result, err := inTx(tx, Call(fmt.Sprint("new ", mode)), 201)
			want("in a transaction, "+mode, result, err, 429)
			result, err = inTx(tx, Call("kept"), 201)
			want("in a transaction, "+mode+", kept", result, err, 201)
		}
	}
	if runs != 3 {
		t.Errorf("%d runs; want 3", runs)
	}
	age(Lease)
	do(guards["another"], "held", made, 201) // a takeover
	if n, err := l.Erase(t.Context(), "alice", 1); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	do(g, "new", made, 201)
	do(g, "newer", made, 429)
	if canOnce {
		if n, err := l.Erase(t.Context(), "alice", 1); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		result, err := inTx(NewGuard(t, NewEngine(t, l, limit), once), Call("newest"), 201)
		want("in a transaction, once", result, err, 201)
		do(g, "newer", made, 429)
	}
}
