package runtime_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/memory"
)

func TestAnotherRequestIsRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		first  *http.Request
		second *http.Request
	}{
		{"body", request("k", `{"qty":1}`), request("k", `{"qty":2}`)},
		{"escaped slash", target("/v1/a%2Fb"), target("/v1/a/b")},
		{"query order", target("/v1/a?a=1&b=2"), target("/v1/a?b=2&a=1")},
		{"allowlisted header", request("k", ""), request("k", "", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") })},
		{"method", request("k", ""), request("k", "", func(r *http.Request) { r.Method = "PUT" })},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newRig(t)
			h := g.typed(policy(), created)
			if w := do(h, c.first); w.Code != 201 {
				t.Fatalf("first: %d", w.Code)
			}
			wantCode(t, do(h, c.second), 422, "idempotency_key_reused")
			if g.runs != 1 {
				t.Errorf("%d runs", g.runs)
			}
		})
	}
}

func target(uri string) *http.Request {
	return request("k", "", func(r *http.Request) {
		*r = *httptest.NewRequest("POST", uri, nil)
		r.Header.Set("Authorization", "Bearer alice")
		r.Header.Set("Idempotency-Key", "k")
	})
}

func TestHeadersOffTheListDoNotCount(t *testing.T) {
	g := newRig(t)
	h := g.typed(policy(), created)
	first := do(h, request("k", ""))
	wantReplay(t, first, do(h, request("k", "", func(r *http.Request) { r.Header.Set("User-Agent", "other") })))
}

func TestMismatchStatusAndForm(t *testing.T) {
	g := newRig(t)
	p := policy()
	p.Mismatch, p.Errors = 409, runtime.ErrorsJSON
	h := g.typed(p, created)
	do(h, request("k", "1"))
	w := do(h, request("k", "2"))
	if w.Code != 409 || w.Header().Get("Content-Type") != "application/json" ||
		w.Body.String() != `{"error":"idempotency_key_reused","message":"This key was used for a different request."}` {
		t.Errorf("got %d %s %s", w.Code, w.Header(), w.Body)
	}
}

func TestProblemDocument(t *testing.T) {
	g := newRig(t)
	h := g.typed(policy(), created)
	w := do(h, request("", ""))
	const want = `{"type":"https://github.com/idemgen/idemgen/blob/main/docs/problems.md#idempotency_key_required",` +
		`"title":"Idempotency key required","status":400,"detail":"The Idempotency-Key header is required.",` +
		`"error":"idempotency_key_required","message":"The Idempotency-Key header is required.","retry":"fix-request"}`
	if w.Header().Get("Content-Type") != "application/problem+json" || w.Body.String() != want {
		t.Errorf("got %s %s", w.Header(), w.Body)
	}
}

func TestInProgress(t *testing.T) {
	g := newRig(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	h := g.typed(policy(), func(ctx context.Context) (*runtime.Response, error) {
		close(entered)
		<-leave
		return created(ctx)
	})
	answers := make(chan *httptest.ResponseRecorder)
	go func() { answers <- do(h, request("k", "")) }()
	<-entered
	g.clock.move(10500 * time.Millisecond)
	w := do(h, request("k", ""))
	wantCode(t, w, 409, "idempotency_key_in_progress")
	if got := w.Header().Get("Retry-After"); got != "11" {
		t.Errorf("Retry-After %q, want 11: it has run for 10.5 s", got)
	}
	if !strings.Contains(w.Body.String(), `"retry_after_ms":10500`) {
		t.Errorf("body %s", w.Body)
	}
	wantCode(t, do(h, request("k", "other")), 422, "idempotency_key_reused")
	close(leave)
	first := <-answers
	wantReplay(t, first, do(h, request("k", "")))
}

// What an operation takes is learned from its runs.
func TestRetryAfterFollowsTheOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.ledger.Ledger = memory.New()
		h := g.server.Handle(policy(), orders, func(*runtime.Request) (runtime.Work, error) { return slowly(8 * time.Second), nil })
		do(h, request("before", ""))
		done := make(chan struct{})
		go func() { defer close(done); do(h, request("k", "")) }()
		time.Sleep(2 * time.Second)
		if got := do(h, request("k", "")).Header().Get("Retry-After"); got != "6" {
			t.Errorf("Retry-After %q, want 6", got)
		}
		<-done
	})
}

func TestTakeover(t *testing.T) {
	g := newRig(t)
	p := policy()
	entered, leave := make(chan struct{}), make(chan struct{})
	slow := g.typed(p, func(ctx context.Context) (*runtime.Response, error) {
		close(entered)
		<-leave
		return &runtime.Response{Body: []byte("slow")}, nil
	})
	answers := make(chan *httptest.ResponseRecorder)
	go func() { answers <- do(slow, request("k", "")) }()
	<-entered
	g.clock.move(p.Lease)

	var generation, fencing int64
	quick := g.typed(p, func(ctx context.Context) (*runtime.Response, error) {
		generation, fencing = runtime.Generation(ctx), runtime.FencingNumber(ctx)
		return &runtime.Response{Body: []byte("quick")}, nil
	})
	wantCode(t, do(quick, request("k", "other")), 422, "idempotency_key_reused")
	second := do(quick, request("k", ""))
	if second.Body.String() != "quick" || generation != 2 || fencing != g.clock.Now().UnixMilli() {
		t.Errorf("takeover answered %s under generation %d, number %d", second.Body, generation, fencing)
	}
	close(leave)
	// An owner that was fenced out answers its own caller with what it
	// computed; everybody after it gets the row's answer.
	if first := <-answers; first.Body.String() != "slow" {
		t.Errorf("the first owner answered %s", first.Body)
	}
	wantReplay(t, second, do(quick, request("k", "")))
	if got := g.events.kinds(); !strings.Contains(got, "taken_over completed fenced_out replayed") {
		t.Errorf("events: %s", got)
	}
}

func TestFencedOutFailureAnswersFromTheRow(t *testing.T) {
	g := newRig(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	slow := g.typed(policy(), func(context.Context) (*runtime.Response, error) {
		close(entered)
		<-leave
		return nil, errors.New("lost its connection")
	})
	answers := make(chan *httptest.ResponseRecorder)
	go func() { answers <- do(slow, request("k", "")) }()
	<-entered
	g.clock.move(policy().Lease)
	second := do(g.typed(policy(), created), request("k", ""))
	close(leave)
	wantReplay(t, second, <-answers)
}

// When the row cannot be read either, the answer must not say that nothing ran.
func TestFencedOutFailureOnALedgerThatIsDown(t *testing.T) {
	g := newRig(t)
	p := policy()
	p.Failure = runtime.FailureRelease
	h := g.typed(p, func(context.Context) (*runtime.Response, error) {
		g.ledger.release = func(context.Context, runtime.Fence) (bool, error) { return false, nil }
		g.ledger.read = func(context.Context, runtime.ID) (runtime.Row, bool, error) {
			return runtime.Row{}, false, runtime.ErrUnavailable
		}
		return nil, errors.New("lost its connection")
	})
	wantCode(t, do(h, request("k", "")), 503, "idempotency_outcome_unknown")
}

// A claim that was taken over late in its retention must not count as expired
// while the new lease lives.
func TestTakeoverJustBeforeRetentionEnds(t *testing.T) {
	g := newRig(t)
	p := policy()
	p.Retain = time.Minute
	p.Failure = runtime.FailureHold
	failing := g.typed(p, func(context.Context) (*runtime.Response, error) { return nil, errors.New("held") })
	if w := do(failing, request("k", "")); w.Code != 500 {
		t.Fatal(w.Code)
	}
	g.clock.move(p.Lease + p.Retain - time.Millisecond)
	entered, leave, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	slow := g.typed(p, func(ctx context.Context) (*runtime.Response, error) {
		close(entered)
		<-leave
		return created(ctx)
	})
	go func() { defer close(done); do(slow, request("k", "")) }()
	<-entered
	g.clock.move(p.Lease - time.Millisecond)
	wantCode(t, do(slow, request("k", "")), 409, "idempotency_key_in_progress")
	close(leave)
	<-done
	if g.runs != 2 {
		t.Errorf("%d runs", g.runs)
	}
}

// A row whose retention is over belongs to its owner while the lease lives.
func TestRetentionDoesNotEndARunningClaim(t *testing.T) {
	g := newRig(t)
	entered, leave, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	h := g.typed(policy(), func(ctx context.Context) (*runtime.Response, error) {
		close(entered)
		<-leave
		return created(ctx)
	})
	go func() { defer close(done); do(h, request("k", "")) }()
	<-entered
	g.ledger.read = func(ctx context.Context, id runtime.ID) (runtime.Row, bool, error) {
		row, found, err := g.ledger.Ledger.Read(ctx, id)
		row.ExpiresAt, row.GoneAt = row.Now, row.Now
		return row, found, err
	}
	wantCode(t, do(h, request("k", "")), 409, "idempotency_key_in_progress")
	close(leave)
	<-done
}

func TestExpiry(t *testing.T) {
	g := newRig(t)
	h := g.typed(policy(), created)
	do(h, request("k", "1"))
	g.clock.move(24*time.Hour - time.Millisecond)
	wantCode(t, do(h, request("k", "2")), 422, "idempotency_key_reused")
	g.clock.move(time.Millisecond)
	if w := do(h, request("k", "2")); w.Code != 201 || g.runs != 2 {
		t.Errorf("after retention: %d, %d runs", w.Code, g.runs)
	}
	wantCode(t, do(h, request("k", "1")), 422, "idempotency_key_reused")
}

func TestGone(t *testing.T) {
	g := newRig(t)
	p := policy()
	p.Gone = 48 * time.Hour
	h := g.typed(p, created)
	do(h, request("k", ""))
	g.clock.move(24 * time.Hour)
	wantCode(t, do(h, request("k", "")), 410, "idempotency_key_expired")
	if n, err := g.ledger.Sweep(context.Background(), 10); n != 1 || err != nil {
		t.Fatalf("sweep: %d, %v", n, err)
	}
	wantCode(t, do(h, request("k", "")), 410, "idempotency_key_expired")
	g.clock.move(48 * time.Hour)
	if w := do(h, request("k", "")); w.Code != 201 || g.runs != 2 {
		t.Errorf("after gone: %d, %d runs", w.Code, g.runs)
	}
}

// What a sweep has left of an expired key is no answer, even when the clock is
// set back to before the expiry.
func TestDroppedAnswerIsNotReplayed(t *testing.T) {
	g := newRig(t)
	p := policy()
	p.Gone = time.Hour
	h := g.typed(p, created)
	do(h, request("k", ""))
	g.clock.move(p.Retain)
	if n, err := g.ledger.Sweep(context.Background(), 1); n != 1 || err != nil {
		t.Fatalf("sweep: %d, %v", n, err)
	}
	g.clock.move(-time.Second)
	wantCode(t, do(h, request("k", "")), 410, "idempotency_key_expired")
}

// Work without a transport may leave the status out.
func TestAnswerWithoutStatusIsKept(t *testing.T) {
	g := newRig(t)
	engine, err := runtime.NewEngine(g.ledger, quiet)
	if err != nil {
		t.Fatal(err)
	}
	guard, err := engine.Guard(policy())
	if err != nil {
		t.Fatal(err)
	}
	call := runtime.Call{Principal: "alice", Key: "k", Fingerprint: func(runtime.Rule) [32]byte { return [32]byte{} }}
	for _, replayed := range []bool{false, true} {
		result, err := guard.Do(t.Context(), call, func(context.Context) (runtime.Answer, error) { return runtime.Answer{}, nil })
		if err != nil || result.Answer.Status != 200 || result.Replayed != replayed {
			t.Errorf("%+v, %v", result, err)
		}
	}
}

// A refusal by decoding must not say "nothing ran" of a key under which
// something may have.
func TestDecodingFailureLooksTheKeyUp(t *testing.T) {
	g := newRig(t)
	strict := false
	h := g.server.Handle(policy(), orders, func(*runtime.Request) (runtime.Work, error) {
		if strict {
			return nil, &runtime.Error{Status: 422, Code: "order_bad", Message: "qty is required"}
		}
		return created, nil
	})
	first := do(h, request("k", "1"))
	strict = true
	wantReplay(t, first, do(h, request("k", "1")))
	wantCode(t, do(h, request("k", "2")), 422, "idempotency_key_reused")
	wantCode(t, do(h, request("new", "1")), 422, "order_bad")

	p := policy()
	p.Failure = runtime.FailureHold
	do(g.typed(p, func(context.Context) (*runtime.Response, error) { return nil, errors.New("held") }), request("held", "1"))
	wantCode(t, do(h, request("held", "1")), 409, "idempotency_key_in_progress")
	g.clock.move(p.Lease)
	wantCode(t, do(h, request("held", "1")), 409, "idempotency_key_in_progress")
}

// An allowlist may change while retries are in flight: a row is compared under
// the rule that it was written with.
func TestAllowlistChange(t *testing.T) {
	g := newRig(t)
	narrow, wide := policy(), policy()
	wide.Fingerprint.Headers = []string{"content-type", "x-api-version"}
	version := func(v string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("X-Api-Version", v) }
	}
	old, renewed := g.typed(narrow, created), g.typed(wide, created)
	first := do(old, request("old", "1", version("1")))
	wantReplay(t, first, do(renewed, request("old", "1", version("2"))))
	wantCode(t, do(renewed, request("old", "2", version("1"))), 422, "idempotency_key_reused")

	second := do(renewed, request("new", "1", version("1")))
	wantReplay(t, second, do(old, request("new", "1", version("1"))))
	wantCode(t, do(old, request("new", "1", version("2"))), 422, "idempotency_key_reused")
}

func TestUnknownRule(t *testing.T) {
	g := newRig(t)
	h := g.typed(policy(), created)
	do(h, request("k", ""))
	g.ledger.read = func(ctx context.Context, id runtime.ID) (runtime.Row, bool, error) {
		row, found, err := g.ledger.Ledger.Read(ctx, id)
		row.Policy = "99 quantum"
		return row, found, err
	}
	wantCode(t, do(h, request("k", "")), 409, "idempotency_key_retry")
}
