package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

func TestFailurePolicies(t *testing.T) {
	conflict := &runtime.Error{Status: 409, Code: "sold_out", Message: "none left"}
	down := &runtime.Error{Status: 503, Code: "stock_down", Message: "stock is down", RetryAfter: 3 * time.Second}
	outcomes := map[string]func(context.Context) (*runtime.Response, error){
		"unclassified": func(context.Context) (*runtime.Response, error) { return nil, errors.New("password=hunter2") },
		"wrapped 409":  func(context.Context) (*runtime.Response, error) { return nil, fmt.Errorf("reserve: %w", conflict) },
		"503":          func(context.Context) (*runtime.Response, error) { return nil, down },
		"429 answer":   func(context.Context) (*runtime.Response, error) { return &runtime.Response{Status: 429}, nil },
		"404 answer":   func(context.Context) (*runtime.Response, error) { return &runtime.Response{Status: 404}, nil },
		"panic":        func(context.Context) (*runtime.Response, error) { panic("boom") },
		"bad status":   func(context.Context) (*runtime.Response, error) { return &runtime.Response{Status: 42}, nil },
		"released": func(context.Context) (*runtime.Response, error) {
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
		"unclassified":   {{500, "internal_error", "replay"}, {500, "internal_error", "run"}, {500, "internal_error", "409"}},
		"wrapped 409":    {{409, "sold_out", "replay"}, {409, "sold_out", "replay"}, {409, "sold_out", "replay"}},
		"503":            {{503, "stock_down", "replay"}, {503, "stock_down", "run"}, {503, "stock_down", "409"}},
		"429 answer":     {{429, "", "replay"}, {429, "", "run"}, {429, "", "409"}},
		"404 answer":     {{404, "", "replay"}, {404, "", "replay"}, {404, "", "replay"}},
		"panic":          {{500, "internal_error", "replay"}, {500, "internal_error", "run"}, {500, "internal_error", "409"}},
		"bad status":     {{500, "internal_error", "replay"}, {500, "internal_error", "run"}, {500, "internal_error", "409"}},
		"released":       {{409, "sold_out", "run"}, {409, "sold_out", "run"}, {409, "sold_out", "run"}},
		"held":           {{500, "internal_error", "409"}, {500, "internal_error", "409"}, {500, "internal_error", "409"}},
		"release asked":  {{201, "", "run"}, {201, "", "run"}, {201, "", "run"}},
		"hold asked":     {{201, "", "409"}, {201, "", "409"}, {201, "", "409"}},
		"wrong status":   {{500, "internal_server_error", "replay"}, {500, "internal_server_error", "run"}, {500, "internal_server_error", "409"}},
		"no JSON result": {{500, "internal_error", "replay"}, {500, "internal_error", "run"}, {500, "internal_error", "409"}},
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

func TestLockedRowIsInProgress(t *testing.T) {
	g := newRig(t)
	g.ledger.insert = func(context.Context, runtime.Claim) (runtime.Claimed, bool, error) {
		return runtime.Claimed{}, false, runtime.ErrRowLocked
	}
	wantCode(t, do(g.typed(policy(), created), request("k", "")), 409, "idempotency_key_in_progress")
}

// A claim that failed with its outcome unknown is given back in the
// background, so that a retry need not wait for a lease that nobody uses.
func TestUnknownClaimIsGivenBack(t *testing.T) {
	g := newRig(t)
	ambiguous := true
	g.ledger.insert = func(ctx context.Context, c runtime.Claim) (runtime.Claimed, bool, error) {
		claimed, won, err := g.ledger.Ledger.Insert(ctx, c)
		if ambiguous {
			ambiguous = false
			return runtime.Claimed{}, false, runtime.ErrUnavailable
		}
		return claimed, won, err
	}
	released := make(chan struct{})
	g.ledger.release = func(ctx context.Context, f runtime.Fence) (bool, error) {
		defer close(released)
		return g.ledger.Ledger.Release(ctx, f)
	}
	h := g.typed(policy(), created)
	wantCode(t, do(h, request("k", "")), 503, "idempotency_ledger_unavailable")
	<-released
	if w := do(h, request("k", "")); w.Code != 201 {
		t.Errorf("afterwards %d %s", w.Code, w.Body)
	}
}

// An insert that stood although its answer was lost reports "held by a row";
// the read finds our own token there.
func TestOwnClaimIsRecognised(t *testing.T) {
	g := newRig(t)
	g.ledger.insert = func(ctx context.Context, c runtime.Claim) (runtime.Claimed, bool, error) {
		g.ledger.Ledger.Insert(ctx, c)
		return runtime.Claimed{}, false, nil
	}
	if w := do(g.typed(policy(), created), request("k", "")); w.Code != 201 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// The row vanishes between the insert and the read: claimed again once, then
// 409.
func TestRowGoneBetweenClaimAndLookUp(t *testing.T) {
	for inserts, want := range map[int]string{2: "201", 3: "409"} {
		g := newRig(t)
		tried := 0
		g.ledger.insert = func(ctx context.Context, c runtime.Claim) (runtime.Claimed, bool, error) {
			if tried++; tried < inserts {
				return runtime.Claimed{}, false, nil
			}
			return g.ledger.Ledger.Insert(ctx, c)
		}
		if w := do(g.typed(policy(), created), request("k", "")); fmt.Sprint(w.Code) != want || tried != 2 {
			t.Errorf("insert %d succeeds: %d %s after %d inserts", inserts, w.Code, w.Body, tried)
		}
	}
}

func TestTakeoverRaceHasOneWinner(t *testing.T) {
	g := newRig(t)
	p := policy()
	p.Failure = runtime.FailureHold
	do(g.typed(p, func(context.Context) (*runtime.Response, error) { return nil, errors.New("held") }), request("k", ""))
	g.clock.move(p.Lease)
	g.ledger.takeOver = func(ctx context.Context, seen runtime.Fence, c runtime.Claim) (runtime.Claimed, bool, error) {
		rival := c
		rival.Owner[0]++
		if _, won, err := g.ledger.Ledger.TakeOver(ctx, seen, rival); !won || err != nil {
			t.Errorf("the rival lost: %v", err)
		}
		return g.ledger.Ledger.TakeOver(ctx, seen, c)
	}
	wantCode(t, do(g.typed(p, created), request("k", "")), 409, "idempotency_key_retry")
	if g.runs != 1 {
		t.Errorf("%d runs", g.runs)
	}
}

// A claim that took more than half of the handler's time is given back: a
// fresh one deleted, one that was taken over left for the next takeover.
func TestLateClaimIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		p := policy()
		p.Failure = runtime.FailureHold
		delay := 12*time.Second + 501*time.Millisecond
		g.ledger.insert = func(ctx context.Context, c runtime.Claim) (runtime.Claimed, bool, error) {
			time.Sleep(delay)
			return g.ledger.Ledger.Insert(ctx, c)
		}
		h := g.typed(p, func(ctx context.Context) (*runtime.Response, error) { return nil, errors.New("held") })
		wantCode(t, do(h, request("k", "")), 503, "idempotency_ledger_unavailable")
		if g.runs != 0 {
			t.Fatal("the handler ran")
		}
		delay = 0
		do(h, request("k", ""))
		if g.runs != 1 {
			t.Fatal("the key was not given back")
		}
		g.clock.move(p.Lease)
		g.ledger.takeOver = func(ctx context.Context, seen runtime.Fence, c runtime.Claim) (runtime.Claimed, bool, error) {
			time.Sleep(13 * time.Second)
			return g.ledger.Ledger.TakeOver(ctx, seen, c)
		}
		wantCode(t, do(h, request("k", "")), 503, "idempotency_ledger_unavailable")
		g.ledger.takeOver = nil
		var generation int64
		do(g.typed(p, func(ctx context.Context) (*runtime.Response, error) {
			generation = runtime.Generation(ctx)
			return created(ctx)
		}), request("k", ""))
		if generation != 3 {
			t.Errorf("generation %d, want 3: the row keeps its history", generation)
		}
	})
}

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
			return false, errors.New("packet too large")
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

func TestSweepFollowsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		limits := make(chan int, 10)
		running, most := atomic.Int32{}, atomic.Int32{}
		g.ledger.sweep = func(ctx context.Context, limit int) (int, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			time.Sleep(time.Second)
			limits <- limit
			return 0, nil
		}
		p := policy()
		p.Sweep = 20
		h := g.typed(p, created)
		time.Sleep(2 * time.Second)
		for i := range 20 {
			do(h, request(fmt.Sprint("k", i), ""))
		}
		time.Sleep(2 * time.Second)
		do(h, request("last", ""))
		if err := g.server.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		close(limits)
		total := 0
		for limit := range limits {
			total += limit
		}
		if total == 0 || total > 21*p.Sweep || most.Load() != 1 {
			t.Errorf("sweeps of %d rows in all, %d at once; want at most %d rows, one at once", total, most.Load(), 21*p.Sweep)
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
	// SHA-256 over 00..05 "alice" 00..00 "" 00..01 "k" 00..09 "authorize".
	const want = "498_s_R9R5nM_VGc9CyUc3-ZPzWUYXogutelBkGE2UE"
	if len(keys) != 4 || keys[0] != keys[2] || keys[1] != keys[3] || keys[0] == keys[1] || len(keys[0]) != 43 {
		t.Errorf("keys %q", keys)
	}
	if keys[0] != want {
		t.Errorf("key %q, want %q", keys[0], want)
	}
}

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

func TestConcurrentRequestsRunOnce(t *testing.T) {
	g := newRig(t)
	var runs atomic.Int32
	h := g.server.Handle(policy(), orders, func(*runtime.Request) (runtime.Work, error) {
		return func(ctx context.Context) (*runtime.Response, error) { runs.Add(1); return created(ctx) }, nil
	})
	for round := range 200 {
		runs.Store(0)
		answers := make(chan *httptest.ResponseRecorder)
		for range 16 {
			go func() { answers <- do(h, request(fmt.Sprint(round), "")) }()
		}
		for range 16 {
			if w := <-answers; w.Code != 201 && w.Code != 409 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
		if runs.Load() != 1 {
			t.Errorf("round %d: %d runs", round, runs.Load())
		}
	}
}
