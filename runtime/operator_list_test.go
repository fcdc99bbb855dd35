package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// A list over many pages finds what passes its filter wherever it lies, and goes
// on where it ended, without a row twice or left out.
func TestOperatorListsAllPages(t *testing.T) {
	g := newRig(t)
	o := newOperator(t, g)
	const keys = 1200 // more than two pages
	for i := range keys {
		do(g.typed(policy(), created), request(fmt.Sprintf("k%04d", i), ""))
	}
	g.clock.move(time.Minute)
	do(g.typed(policy(), held), request("k0600-held", ""))
	do(g.typed(policy(), held), request("zz-held", ""))
	pending, err := o.List(context.Background(), runtime.Filter{State: runtime.StatePending})
	if err != nil || len(pending.Keys) != 2 || pending.More || pending.Read != keys+2 ||
		pending.Keys[0].Fence.Key != "k0600-held" || pending.Keys[1].Fence.Key != "zz-held" {
		t.Errorf("%+v, %v", pending, err)
	}
	for _, f := range []runtime.Filter{{Limit: 97}, {Limit: 500}, {Reads: 501, Limit: keys}, {Limit: 131, Reads: 131}} {
		seen, lists := map[string]bool{}, 0
		for more := true; more; lists++ {
			found, err := o.List(context.Background(), f)
			if err != nil || lists > keys+3 {
				t.Fatal(lists, err)
			}
			for _, key := range found.Keys {
				if seen[key.Fence.Key] {
					t.Fatalf("%+v: %s is listed twice", f, key.Fence.Key)
				}
				seen[key.Fence.Key] = true
			}
			more, f.After = found.More, found.Next
		}
		if len(seen) != keys+2 {
			t.Errorf("%+v: %d keys; want %d", f, len(seen), keys+2)
		}
	}
	if found, err := o.List(context.Background(), runtime.Filter{Principal: "alic"}); err != nil || found.Read != 0 || found.More {
		t.Errorf("another principal: %+v, %v", found, err)
	}
	if log := g.log.String(); strings.Contains(log, "k0600") {
		t.Errorf("a key is logged: %s", log)
	}
}

// The hash that an event shows finds its key again.
func TestOperatorFindsTheHashOfAnEvent(t *testing.T) {
	secret := []byte("fedcba9876543210")
	g := newRig(t, runtime.WithKeyHashSecret(secret))
	do(g.typed(policy(), created), request("mine", ""))
	do(g.typed(policy(), created), request("other", ""))
	g.events.mu.Lock()
	hash := g.events.all[len(g.events.all)-1].KeyHash
	g.events.mu.Unlock()
	o := newOperator(t, g) // with another secret
	if found, err := o.List(context.Background(), runtime.Filter{KeyHash: hash}); err != nil || len(found.Keys) != 0 {
		t.Errorf("by another secret: %+v, %v", found, err)
	}
	found, err := o.List(context.Background(), runtime.Filter{KeyHash: hash, Secret: secret})
	if err != nil || len(found.Keys) != 1 || found.Keys[0].Fence.Key != "other" || found.Keys[0].Status != 201 {
		t.Errorf("%+v, %v", found, err)
	}
}

// operatorOnly is a ledger of before there were lists.
type operatorOnly struct{ runtime.OperatorLedger }

func TestOperatorListRefuses(t *testing.T) {
	g := newRig(t)
	o := newOperator(t, g)
	for part, f := range map[string]runtime.Filter{
		"64 hexadecimal digits":     {KeyHash: "abc"},
		"at least 16 bytes":         {KeyHash: strings.Repeat("a", 64), Secret: []byte("short")},
		`"open" is no state`:        {State: "open"},
		"neither can be negative":   {Limit: -1},
		"-2 read: neither can be n": {Reads: -2},
	} {
		if _, err := o.List(context.Background(), f); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%+v: %v; want %q", f, err, part)
		}
	}
	old, err := runtime.NewOperator(operatorOnly{g.ledger.Ledger.(runtime.OperatorLedger)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.List(context.Background(), runtime.Filter{}); err == nil || !strings.Contains(err.Error(), "cannot list") {
		t.Errorf("a ledger without lists: %v", err)
	}
}
