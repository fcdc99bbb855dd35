package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

func TestFailurePolicies(t *testing.T) {
	conflict := &runtime.Error{Status: 409, Code: "sold_out", Message: "none left"}
	down := &runtime.Error{Status: 503, Code: "stock_down", Message: "stock is down", RetryAfter: 3 * time.Second}
	outcomes := map[string]func(context.Context) (*runtime.Response, error){
		"unclassified": func(context.Context) (*runtime.Response, error) { return nil, errors.New("password=hunter2") },
		"409":          func(context.Context) (*runtime.Response, error) { return nil, conflict },
		"wrapped 409":  func(context.Context) (*runtime.Response, error) { return nil, fmt.Errorf("reserve: %w", conflict) },
		"503":          func(context.Context) (*runtime.Response, error) { return nil, down },
		"429 answer":   func(context.Context) (*runtime.Response, error) { return &runtime.Response{Status: 429}, nil },
		"503 without": func(context.Context) (*runtime.Response, error) {
			return nil, &runtime.Error{Status: 503, Code: "stock_down"}
		},
		"500 with": func(context.Context) (*runtime.Response, error) {
			return nil, &runtime.Error{Status: 500, Code: "broken", RetryAfter: time.Second}
		},
		"409 with": func(context.Context) (*runtime.Response, error) {
			return nil, &runtime.Error{Status: 409, Code: "sold_out", RetryAfter: time.Second}
		},
		"503, stored": func(context.Context) (*runtime.Response, error) { return nil, runtime.Store(down) },
		"429 with": func(context.Context) (*runtime.Response, error) {
			return &runtime.Response{Status: 429, Header: http.Header{"Retry-After": {"7"}}}, nil
		},
		"429, stored": func(ctx context.Context) (*runtime.Response, error) {
			runtime.StoreClaim(ctx)
			return &runtime.Response{Status: 429, Header: http.Header{"Retry-After": {"7"}}}, nil
		},
		"404 answer": func(context.Context) (*runtime.Response, error) { return &runtime.Response{Status: 404}, nil },
		"panic":      func(context.Context) (*runtime.Response, error) { panic("boom") },
		"bad status": func(context.Context) (*runtime.Response, error) { return &runtime.Response{Status: 42}, nil },
		"released": func(context.Context) (*runtime.Response, error) {
			return nil, runtime.Release(conflict)
		},
		"released, wrapped": func(context.Context) (*runtime.Response, error) {
			return nil, fmt.Errorf("later: %w", runtime.Release(conflict))
		},
		"held":          func(context.Context) (*runtime.Response, error) { return nil, runtime.Hold(errors.New("unsure")) },
		"release asked": func(ctx context.Context) (*runtime.Response, error) { runtime.ReleaseClaim(ctx); return created(ctx) },
		"hold asked":    func(ctx context.Context) (*runtime.Response, error) { runtime.HoldClaim(ctx); return created(ctx) },
		"wrong status": func(context.Context) (*runtime.Response, error) {
			return nil, &runtime.Error{Status: 200, Message: "x"}
		},
		"no JSON result": func(context.Context) (*runtime.Response, error) { return runtime.JSON(200, make(chan int)) },
	}
	type want struct {
		status int
		code   string
		retry  string // what a retry meets: replay, run or 409
	}
	for name, wants := range map[string][3]want{ // store, release, hold
		"unclassified":      {{500, "internal_error", "replay"}, {500, "internal_error", "run"}, {500, "internal_error", "409"}},
		"409":               {{409, "sold_out", "replay"}, {409, "sold_out", "replay"}, {409, "sold_out", "replay"}},
		"wrapped 409":       {{500, "internal_error", "replay"}, {500, "internal_error", "run"}, {500, "internal_error", "409"}},
		"503 without":       {{503, "stock_down", "replay"}, {503, "stock_down", "run"}, {503, "stock_down", "409"}},
		"500 with":          {{500, "broken", "replay"}, {500, "broken", "run"}, {500, "broken", "409"}},
		"409 with":          {{409, "sold_out", "replay"}, {409, "sold_out", "replay"}, {409, "sold_out", "replay"}},
		"503, stored":       {{503, "stock_down", "replay"}, {503, "stock_down", "replay"}, {503, "stock_down", "replay"}},
		"429 with":          {{429, "", "run"}, {429, "", "run"}, {429, "", "409"}},
		"429, stored":       {{429, "", "replay"}, {429, "", "replay"}, {429, "", "replay"}},
		"503":               {{503, "stock_down", "run"}, {503, "stock_down", "run"}, {503, "stock_down", "409"}},
		"429 answer":        {{429, "", "replay"}, {429, "", "run"}, {429, "", "409"}},
		"404 answer":        {{404, "", "replay"}, {404, "", "replay"}, {404, "", "replay"}},
		"panic":             {{500, "internal_error", "replay"}, {500, "internal_error", "run"}, {500, "internal_error", "409"}},
		"bad status":        {{500, "internal_error", "replay"}, {500, "internal_error", "run"}, {500, "internal_error", "409"}},
		"released":          {{409, "sold_out", "run"}, {409, "sold_out", "run"}, {409, "sold_out", "run"}},
		"held":              {{500, "internal_error", "409"}, {500, "internal_error", "409"}, {500, "internal_error", "409"}},
		"release asked":     {{201, "", "run"}, {201, "", "run"}, {201, "", "run"}},
		"hold asked":        {{201, "", "409"}, {201, "", "409"}, {201, "", "409"}},
		"wrong status":      {{500, "internal_server_error", "replay"}, {500, "internal_server_error", "run"}, {500, "internal_server_error", "409"}},
		"no JSON result":    {{500, "internal_error", "replay"}, {500, "internal_error", "run"}, {500, "internal_error", "409"}},
		"released, wrapped": {{500, "internal_error", "run"}, {500, "internal_error", "run"}, {500, "internal_error", "run"}},
	} {
		for i, failure := range []runtime.Failure{runtime.FailureStore, runtime.FailureRelease, runtime.FailureHold} {
			t.Run(name+"/"+string(failure), func(t *testing.T) {
				g := newRig(t)
				p := policy()
				p.Failure = failure
				h := g.typed(p, outcomes[name])
				first := do(h, request("k", ""))
				if first.Code != wants[i].status || !strings.Contains(first.Body.String(), wants[i].code) {
					t.Fatalf("first answer: %d %s", first.Code, first.Body)
				}
				if strings.Contains(first.Body.String(), "hunter2") || strings.Contains(first.Body.String(), "boom") {
					t.Errorf("the cause reached the client: %s", first.Body)
				}
				if got := first.Header().Get("Retry-After"); strings.HasPrefix(name, "429, ") && got != "7" || name == "429 with" && got != "7" {
					t.Errorf("Retry-After %q", got)
				}
				again := do(h, request("k", ""))
				switch wants[i].retry {
				case "replay":
					wantReplay(t, first, again)
				case "run":
					if g.runs != 2 || again.Header().Get("Idempotency-Replayed") != "" {
						t.Errorf("retry did not run: %d %s", again.Code, again.Body)
					}
				case "409":
					wantCode(t, again, 409, "idempotency_key_in_progress")
					if text := again.Body.String(); !strings.Contains(text, "holds its key") || strings.Contains(text, "still running") {
						t.Errorf("nothing runs, but the answer is %s", text)
					}
					g.clock.move(p.Lease)
					if do(h, request("k", "")); g.runs != 2 {
						t.Error("after the lease the key is still held")
					}
				}
			})
		}
	}
}

func TestHandlerErrorTellsTheClientWhenToRetry(t *testing.T) {
	g := newRig(t)
	h := g.typed(policy(), func(context.Context) (*runtime.Response, error) {
		return nil, &runtime.Error{Status: 503, Code: "busy", RetryAfter: 1500 * time.Millisecond}
	})
	w := do(h, request("k", ""))
	if w.Header().Get("Retry-After") != "2" || !strings.Contains(w.Body.String(), `"retry_after_ms":1500`) {
		t.Errorf("got %s %s", w.Header(), w.Body)
	}
}

func TestPanicIsLoggedWithItsStack(t *testing.T) {
	g := newRig(t)
	h := g.typed(policy(), func(context.Context) (*runtime.Response, error) { panic("boom") })
	do(h, request("secret-key", ""))
	if log := g.log.String(); !strings.Contains(log, "boom") || !strings.Contains(log, "failure_test.go") || strings.Contains(log, "secret-key") {
		t.Errorf("log: %s", log)
	}
}

func TestAbortIsPassedOn(t *testing.T) {
	g := newRig(t)
	p := policy()
	p.Failure = runtime.FailureRelease
	h := g.typed(p, func(context.Context) (*runtime.Response, error) { panic(http.ErrAbortHandler) })
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("panicked with %v", p)
			}
		}()
		do(h, request("k", ""))
	}()
	if strings.Contains(g.log.String(), "stack=") {
		t.Errorf("log: %s", g.log)
	}
	if w := do(g.typed(p, created), request("k", "")); w.Code != 201 {
		t.Errorf("the key is wedged: %d %s", w.Code, w.Body)
	}
}

func TestGoexitDoesNotWedgeTheKey(t *testing.T) {
	g := newRig(t)
	p := policy()
	p.Failure = runtime.FailureRelease
	h := g.typed(p, func(context.Context) (*runtime.Response, error) { goruntime.Goexit(); return nil, nil })
	done := make(chan struct{})
	go func() {
		defer close(done)
		do(h, request("k", ""))
	}()
	<-done
	if w := do(g.typed(p, created), request("k", "")); w.Code != 201 {
		t.Errorf("the key is wedged: %d %s", w.Code, w.Body)
	}
}
