package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

func TestLedgerDownBeforeTheClaim(t *testing.T) {
	for name, err := range map[string]error{"down": runtime.ErrUnavailable, "refused": errors.New("no such table")} {
		g := newRig(t)
		down := true
		g.ledger.insert = func(ctx context.Context, c runtime.Claim) (runtime.Claimed, bool, error) {
			if down {
				return runtime.Claimed{}, false, err
			}
			return g.ledger.Ledger.Insert(ctx, c)
		}
		h := g.typed(policy(), created)
		w := do(h, request("k", ""))
		wantCode(t, w, 503, "idempotency_ledger_unavailable")
		if g.runs != 0 || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: %d runs, Retry-After %q", name, g.runs, w.Header().Get("Retry-After"))
		}
		down = false
		if w := do(h, request("k", "")); w.Code != 201 {
			t.Errorf("%s: afterwards %d %s", name, w.Code, w.Body)
		}
	}
}

func TestLedgerDownAtTheRead(t *testing.T) {
	g := newRig(t)
	h := g.typed(policy(), created)
	do(h, request("k", ""))
	g.ledger.read = func(context.Context, runtime.ID) (runtime.Row, bool, error) {
		return runtime.Row{}, false, runtime.ErrUnavailable
	}
	wantCode(t, do(h, request("k", "")), 503, "idempotency_ledger_unavailable")
	strict := g.server.Handle(policy(), orders, func(*runtime.Request) (runtime.Work, error) {
		return nil, &runtime.Error{Status: 422, Code: "bad"}
	})
	wantCode(t, do(strict, request("k", "")), 503, "idempotency_ledger_unavailable")
	if g.runs != 1 {
		t.Errorf("%d runs", g.runs)
	}
}

// A ledger that fails after the effect holds the caller at most 2 s, and the
// completion is made up for in the background.
func TestCompletionIsRetriedInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		var down atomic.Bool
		down.Store(true)
		g.ledger.complete = func(ctx context.Context, c runtime.Completion) (bool, error) {
			if down.Load() {
				<-ctx.Done()
				return false, ctx.Err()
			}
			return g.ledger.Ledger.Complete(ctx, c)
		}
		h := g.typed(policy(), created)
		start := time.Now()
		first := do(h, request("k", ""))
		if first.Code != 201 || time.Since(start) != 2*time.Second {
			t.Fatalf("%d after %v", first.Code, time.Since(start))
		}
		wantCode(t, do(h, request("k", "")), 409, "idempotency_key_in_progress")
		g.clock.move(2 * policy().Lease) // nobody takes the claim over meanwhile
		down.Store(false)
		if err := g.server.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		wantReplay(t, first, do(h, request("k", "")))
		if g.runs != 1 {
			t.Errorf("%d runs", g.runs)
		}
	})
}

func TestBackgroundCompletionStopsWhenFencedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		var down atomic.Bool
		down.Store(true)
		g.ledger.complete = func(ctx context.Context, c runtime.Completion) (bool, error) {
			if down.Load() && c.Generation == 1 {
				return false, runtime.ErrUnavailable
			}
			return g.ledger.Ledger.Complete(ctx, c)
		}
		do(g.typed(policy(), created), request("k", ""))
		g.clock.move(policy().Lease)
		second := do(g.typed(policy(), func(context.Context) (*runtime.Response, error) {
			return &runtime.Response{Body: []byte("second")}, nil
		}), request("k", ""))
		down.Store(false)
		if err := g.server.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		wantReplay(t, second, do(g.typed(policy(), created), request("k", "")))
		if !strings.HasSuffix(g.events.kinds(), "fenced_out replayed") {
			t.Errorf("events: %s", g.events.kinds())
		}
	})
}

// One failure in the background is not the last attempt.
func TestBackgroundCompletionGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		failures := 0
		g.ledger.complete = func(ctx context.Context, c runtime.Completion) (bool, error) {
			if failures++; failures <= 4 {
				return false, runtime.ErrUnavailable
			}
			return g.ledger.Ledger.Complete(ctx, c)
		}
		h := g.typed(policy(), created)
		first := do(h, request("k", ""))
		time.Sleep(time.Minute)
		wantReplay(t, first, do(h, request("k", "")))
		if failures != 5 {
			t.Errorf("%d attempts; want 5", failures)
		}
	})
}

// A claim that could not be released at once is released later.
func TestReleaseIsRetriedInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		failures := 0
		g.ledger.release = func(ctx context.Context, f runtime.Fence) (bool, error) {
			if failures++; failures <= 3 {
				return false, runtime.ErrUnavailable
			}
			return g.ledger.Ledger.Release(ctx, f)
		}
		p := policy()
		p.Failure = runtime.FailureRelease
		h := g.typed(p, func(ctx context.Context) (*runtime.Response, error) {
			if g.runs == 1 {
				return nil, errors.New("failed")
			}
			return created(ctx)
		})
		wantCode(t, do(h, request("k", "")), 500, "internal_error")
		time.Sleep(time.Minute)
		if w := do(h, request("k", "")); w.Code != 201 || g.runs != 2 {
			t.Errorf("afterwards %d %s, %d runs", w.Code, w.Body, g.runs)
		}
	})
}

// A ledger that is down first, and then refuses the answer, closes the key all
// the same.
func TestAnswerRefusedInTheBackgroundCompletesWithTheSentinel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		attempts := 0
		g.ledger.complete = func(ctx context.Context, c runtime.Completion) (bool, error) {
			switch attempts++; attempts {
			case 1:
				return false, runtime.ErrUnavailable
			case 2:
				return false, fmt.Errorf("%w: packet too large", runtime.ErrRefused)
			}
			return g.ledger.Ledger.Complete(ctx, c)
		}
		h := g.typed(policy(), created)
		if w := do(h, request("k", "")); w.Code != 201 {
			t.Errorf("first %d %s", w.Code, w.Body)
		}
		time.Sleep(time.Minute)
		wantCode(t, do(h, request("k", "")), 500, "idempotency_response_too_large")
		if g.runs != 1 {
			t.Errorf("%d runs", g.runs)
		}
	})
}

func TestCloseGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.ledger.complete = func(context.Context, runtime.Completion) (bool, error) { return false, runtime.ErrUnavailable }
		server, err := runtime.NewServer(g.ledger, bearer, quiet)
		if err != nil {
			t.Fatal(err)
		}
		h := server.Handle(policy(), orders, func(*runtime.Request) (runtime.Work, error) { return created, nil })
		do(h, request("k", ""))
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := server.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 completions") {
			t.Errorf("Close: %v", err)
		}
	})
}

// A refusal that no time mends (a packet limit, say) stores the sentinel at
// once: the key is not wedged and the effect not repeated.
func TestRefusedAnswerCompletesWithTheSentinel(t *testing.T) {
	g := newRig(t)
	g.ledger.complete = func(ctx context.Context, c runtime.Completion) (bool, error) {
		if strings.Contains(string(c.Answer.Body), `"id"`) {
			return false, fmt.Errorf("%w: packet too large", runtime.ErrRefused)
		}
		return g.ledger.Ledger.Complete(ctx, c)
	}
	h := g.typed(policy(), created)
	first := do(h, request("k", ""))
	wantCode(t, first, 500, "idempotency_response_too_large")
	wantReplay(t, first, do(h, request("k", "")))
	if g.runs != 1 {
		t.Errorf("%d runs", g.runs)
	}
}
