package runtime_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/idemgen/idemgen/runtime"
)

// A caller that has as many requests under way as it may is refused for itself,
// and nobody else is.
func TestCallerLimit(t *testing.T) {
	for _, status := range []int{429, 503} {
		g := newRig(t, runtime.WithCallerLimit(2, status))
		entered, leave := make(chan struct{}), make(chan struct{})
		p := policy()
		slow := g.typed(p, func(ctx context.Context) (*runtime.Response, error) {
			entered <- struct{}{}
			<-leave
			return created(ctx)
		})
		quick := g.server.Handle(p, orders, func(*runtime.Request) (runtime.Work, error) { return created, nil })
		done := make(chan int)
		for _, key := range []string{"a", "b"} {
			go func() { done <- do(slow, request(key, "1")).Code }()
			<-entered
		}
		w := do(quick, request("c", "1"))
		wantCode(t, w, status, runtime.CodeCallerLimit)
		wantRetry(t, w.Body.String(), runtime.RetrySameKey)
		if w.Header().Get("Retry-After") == "" {
			t.Error("the refusal has no Retry-After")
		}
		bob := func(r *http.Request) { r.Header.Set("Authorization", "Bearer bob") }
		if w := do(quick, request("c", "1", bob)); w.Code != 201 {
			t.Errorf("another caller got %d %s", w.Code, w.Body)
		}
		close(leave)
		if first, second := <-done, <-done; first != 201 || second != 201 {
			t.Errorf("those under way got %d and %d", first, second)
		}
		if w := do(quick, request("c", "1")); w.Code != 201 {
			t.Errorf("afterwards the caller got %d %s", w.Code, w.Body)
		}
	}
}

// A handler that panics or ends its goroutine gives its place back.
func TestCallerLimitAfterPanic(t *testing.T) {
	g := newRig(t, runtime.WithCallerLimit(1, 429))
	h := g.typed(policy(), func(context.Context) (*runtime.Response, error) { panic("no") })
	for range 3 {
		if w := do(h, request("k", "1")); w.Code == 429 {
			t.Fatal("the place was not given back")
		}
	}
}

func TestCallerLimitIsChecked(t *testing.T) {
	for _, c := range [][2]int{{0, 429}, {-1, 503}, {1, 500}, {1, 0}} {
		if _, err := runtime.NewEngine(newRig(t).ledger, runtime.WithCallerLimit(c[0], c[1])); err == nil {
			t.Errorf("WithCallerLimit(%d, %d) passes", c[0], c[1])
		}
	}
}
