package runtime_test

import (
	"testing"

	"github.com/idemgen/idemgen/runtime"
)

func TestKeyHashInEvents(t *testing.T) {
	g := newRig(t, runtime.WithKeyHashSecret([]byte("0123456789abcdef")))
	do(g.typed(policy(), created), request("k", ""))
	g.events.mu.Lock()
	defer g.events.mu.Unlock()
	for _, e := range g.events.all {
		if len(e.KeyHash) != 64 || e.Principal != "alice" || e.Operation != "POST /v1/orders" {
			t.Errorf("event %+v", e)
		}
	}
}
