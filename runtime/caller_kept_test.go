package runtime_test

import (
	"context"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/memory"
)

// A caller with its fill of keys gets a problem document for a new one, and its
// replays as ever.
func TestCallerKept(t *testing.T) {
	for _, status := range []int{429, 503} {
		server, err := runtime.NewServer(memory.New(), bearer, runtime.WithCallerKept(1, status))
		if err != nil {
			t.Fatal(err)
		}
		h := server.Handle(policy(), orders, func(*runtime.Request) (runtime.Work, error) { return created, nil })
		for range 2 {
			if w := do(h, request("kept", "1")); w.Code != 201 {
				t.Errorf("kept: %d %s", w.Code, w.Body)
			}
			w := do(h, request("new", "1"))
			wantCode(t, w, status, runtime.CodeCallerKept)
			wantRetry(t, w.Body.String(), runtime.RetrySameKey)
			if w.Header().Get("Retry-After") != "60" {
				t.Errorf("Retry-After: %q", w.Header().Get("Retry-After"))
			}
		}
		if err := server.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// uncounted is a ledger that cannot count.
type uncounted struct{ runtime.Ledger }

func TestCallerKeptIsChecked(t *testing.T) {
	for _, c := range [][2]int{{0, 429}, {-1, 503}, {1, 500}, {1, 0}} {
		if _, err := runtime.NewEngine(memory.New(), runtime.WithCallerKept(c[0], c[1])); err == nil {
			t.Errorf("WithCallerKept(%d, %d) passes", c[0], c[1])
		}
	}
	if _, err := runtime.NewEngine(uncounted{memory.New()}, runtime.WithCallerKept(1, 429)); err == nil || !strings.Contains(err.Error(), "cannot count") {
		t.Errorf("a ledger that cannot count: %v", err)
	}
}
