package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

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

// The steps of a request come in the order that the design fixes: each case
// breaks one rule and every rule after it.
func TestOrder(t *testing.T) {
	denied := errors.New("no longer a customer")
	g := newRig(t, runtime.WithAuthorize(func(r *http.Request, principal, operation string) error {
		if r.Header.Get("X-Denied") != "" {
			return denied
		}
		return nil
	}))
	p := policy()
	p.RequestMax = 8
	h := g.server.Handle(p, orders, func(r *runtime.Request) (runtime.Work, error) {
		if strings.Contains(string(r.Body), "bad") {
			return nil, &runtime.Error{Status: 422, Code: "order_bad", Message: "bad"}
		}
		return created, nil
	})
	deny := func(r *http.Request) { r.Header.Set("X-Denied", "1") }
	anonymous := func(r *http.Request) { r.Header.Del("Authorization") }
	twoKeys := func(r *http.Request) { r.Header.Add("Idempotency-Key", "l") }
	for _, c := range []struct {
		name    string
		request *http.Request
		status  int
		code    string
	}{
		{"principal", request("", "bad bad bad", anonymous, deny, twoKeys), 401, "unauthenticated"},
		{"rights", request("", "bad bad bad", deny, twoKeys), 403, "forbidden"},
		{"key missing", request("", "bad bad bad"), 400, "idempotency_key_required"},
		{"key twice", request("k", "bad bad bad", twoKeys), 400, "idempotency_key_invalid"},
		{"key empty", request("k", "bad bad bad", func(r *http.Request) { r.Header["Idempotency-Key"] = []string{""} }), 400, "idempotency_key_invalid"},
		{"key long", request(strings.Repeat("k", 256), "bad bad bad"), 400, "idempotency_key_invalid"},
		{"body long", request("k", "bad bad bad"), 413, "request_body_too_large"},
		{"body long, length unknown", request("k", "bad bad bad", func(r *http.Request) { r.ContentLength = -1 }), 413, "request_body_too_large"},
		{"body broken", request("k", "", func(r *http.Request) { r.Body = io.NopCloser(brokenReader{}) }), 400, "request_body_unreadable"},
		{"decoding", request("k", "bad"), 422, "order_bad"},
	} {
		t.Run(c.name, func(t *testing.T) { wantCode(t, do(h, c.request), c.status, c.code) })
	}
	if w := do(h, request("", "", anonymous)); w.Header().Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("401 with WWW-Authenticate %q", w.Header().Get("WWW-Authenticate"))
	}
	if w := do(h, request("k", "good")); w.Code != 201 {
		t.Errorf("after the refusals, none of which may be stored: %d %s", w.Code, w.Body)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("reset") }

func TestPrincipalErrors(t *testing.T) {
	for _, c := range []struct {
		principal string
		err       error
		status    int
	}{
		{"", errors.New("no token"), 401},
		{"", &runtime.Error{Status: 503, Message: "identity service is down"}, 503},
		{"", nil, 500},
		{strings.Repeat("p", 256), nil, 500},
		{strings.Repeat("p", 255), nil, 201},
		{"\x00\xff'; --", nil, 201},
	} {
		g := newRig(t)
		server, err := runtime.NewServer(g.ledger, func(*http.Request) (string, error) { return c.principal, c.err }, quiet)
		if err != nil {
			t.Fatal(err)
		}
		h := server.Handle(policy(), orders, func(*runtime.Request) (runtime.Work, error) { return created, nil })
		if w := do(h, request("k", "")); w.Code != c.status {
			t.Errorf("principal %q, error %v: %d, want %d", c.principal, c.err, w.Code, c.status)
		}
	}
}

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
		`"error":"idempotency_key_required","message":"The Idempotency-Key header is required."}`
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
	if got := w.Header().Get("Retry-After"); got != "20" {
		t.Errorf("Retry-After %q, want 20: 19.5 s of the lease are left", got)
	}
	if !strings.Contains(w.Body.String(), `"retry_after_ms":19500`) {
		t.Errorf("body %s", w.Body)
	}
	wantCode(t, do(h, request("k", "other")), 422, "idempotency_key_reused")
	close(leave)
	first := <-answers
	wantReplay(t, first, do(h, request("k", "")))
}

func TestRetryAfterIsNeverAboveTheLease(t *testing.T) {
	g := newRig(t)
	h := g.typed(policy(), created)
	entered, leave, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	slow := g.typed(policy(), func(ctx context.Context) (*runtime.Response, error) {
		close(entered)
		<-leave
		return created(ctx)
	})
	go func() { defer close(done); do(slow, request("k", "")) }()
	<-entered
	g.clock.move(-10 * time.Minute)
	if got := do(h, request("k", "")).Header().Get("Retry-After"); got != "30" {
		t.Errorf("Retry-After %q, want 30", got)
	}
	close(leave)
	<-done
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

func TestPrincipalsAreApart(t *testing.T) {
	g := newRig(t)
	h := g.typed(policy(), func(ctx context.Context) (*runtime.Response, error) {
		return &runtime.Response{Body: []byte(runtime.Principal(ctx))}, nil
	})
	bob := func(r *http.Request) { r.Header.Set("Authorization", "Bearer bob") }
	if a, b := do(h, request("k", "1")), do(h, request("k", "2", bob)); a.Body.String() != "alice" || b.Body.String() != "bob" {
		t.Errorf("alice got %s, bob got %s", a.Body, b.Body)
	}
	if w := do(h, request("k", "1", bob)); w.Code != 422 {
		t.Errorf("bob with alice's request: %d", w.Code)
	}
}

func TestWithdrawnRightsGetNoReplay(t *testing.T) {
	withdrawn := false
	g := newRig(t, runtime.WithAuthorize(func(*http.Request, string, string) error {
		if withdrawn {
			return errors.New("dismissed")
		}
		return nil
	}))
	h := g.typed(policy(), created)
	do(h, request("k", ""))
	withdrawn = true
	w := do(h, request("k", ""))
	wantCode(t, w, 403, "forbidden")
	if strings.Contains(w.Body.String(), `"id"`) || w.Header().Get("Location") != "" {
		t.Errorf("403 with %s %s", w.Header(), w.Body)
	}
}

func TestScope(t *testing.T) {
	for scope, want := range map[runtime.Scope]int{runtime.ScopePrincipal: 422, runtime.ScopeOperation: 201} {
		g := newRig(t)
		orders, refunds := policy(), runtime.DefaultPolicy("POST /v1/refunds")
		orders.Scope, refunds.Scope = scope, scope
		do(g.typed(orders, created), request("k", ""))
		r := request("k", "", func(r *http.Request) { r.RequestURI = "/v1/refunds" })
		if w := do(g.typed(refunds, created), r); w.Code != want {
			t.Errorf("scope %s: %d, want %d", scope, w.Code, want)
		}
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

func TestAnswersReplayExactly(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for name, fn := range map[string]http.HandlerFunc{
		"binary":      func(w http.ResponseWriter, r *http.Request) { w.Write(every) },
		"never wrote": func(w http.ResponseWriter, r *http.Request) {},
		"empty":       func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(202) },
		"several values": func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Link"] = []string{"<a>, <b>", "<c>"}
			w.Write([]byte("x"))
		},
		"disposition": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Disposition", `attachment; filename="a,b.txt"`)
			w.Write([]byte("a,b"))
		},
		"compressed": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write([]byte{0x1f, 0x8b, 0})
		},
		"no type": func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Content-Type"] = nil
			w.Write([]byte("<html>"))
		},
		"no content": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(204)
			if _, err := w.Write([]byte("x")); err != http.ErrBodyNotAllowed {
				t.Errorf("a write to a 204: %v", err)
			}
		},
		"reset content": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(205) },
		"not modified":  func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(304) },
		"late header": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(200)
			w.Header().Set("Link", "late")
		},
		"informational": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(103)
			w.WriteHeader(201)
			w.WriteHeader(500)
		},
		"length and date": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "99")
			w.Header().Set("Date", "never")
			w.Write([]byte("x"))
		},
		"flushed": func(w http.ResponseWriter, r *http.Request) {
			w.Write([]byte("a"))
			w.(http.Flusher).Flush()
			w.Write([]byte("b"))
			if _, _, err := http.NewResponseController(w).Hijack(); !errors.Is(err, http.ErrNotSupported) {
				t.Errorf("Hijack: %v", err)
			}
		},
		"4xx": func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no such sku", 404) },
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			p := policy()
			p.Replay = append(p.Replay, "Link", "Content-Disposition")
			h := g.standard(p, fn)
			server := httptest.NewServer(h)
			defer server.Close()
			first, again := send(t, server, "k"), send(t, server, "k")
			if marker := again.header.Get("Idempotency-Replayed"); marker != "true" || first.header.Get("Idempotency-Replayed") != "" {
				t.Errorf("marker %q", marker)
			}
			again.header.Del("Idempotency-Replayed")
			first.header.Del("Date")
			again.header.Del("Date")
			if fmt.Sprint(first) != fmt.Sprint(again) {
				t.Errorf("first answer\n%v\nreplay\n%v", first, again)
			}
			if g.runs != 1 {
				t.Errorf("%d runs", g.runs)
			}
		})
	}
}

type answer struct {
	status int
	header http.Header
	body   string
}

// send makes a request over TCP.
func send(t *testing.T, server *httptest.Server, key string) answer {
	t.Helper()
	r, err := http.NewRequest("POST", server.URL+"/v1/orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer alice")
	r.Header.Set("Idempotency-Key", key)
	r.Header.Set("Accept-Encoding", "identity")
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return answer{response.StatusCode, response.Header, string(readAll(t, response.Body))}
}

func TestDroppedHeaderIsSaidOnce(t *testing.T) {
	g := newRig(t)
	h := g.typed(policy(), func(context.Context) (*runtime.Response, error) {
		return &runtime.Response{Header: http.Header{"Set-Cookie": {"session=secret"}, "X-Debug": {"1"}}}, nil
	})
	for _, key := range []string{"a", "b"} {
		if w := do(h, request(key, "")); w.Header().Get("Set-Cookie") != "" || w.Header().Get("X-Debug") != "" {
			t.Errorf("dropped headers were sent: %s", w.Header())
		}
	}
	log := g.log.String()
	if strings.Count(log, "header=Set-Cookie") != 1 || strings.Count(log, "header=X-Debug") != 1 || strings.Contains(log, "secret") {
		t.Errorf("log: %s", log)
	}
}

func TestAnswerTooLarge(t *testing.T) {
	for _, size := range []int{16<<10 - len("Content-Type: text/plain\n"), 16<<10 - len("Content-Type: text/plain\n") + 1, 1 << 20} {
		g := newRig(t)
		h := g.standard(policy(), func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, strings.Repeat("x", size))
		})
		first := do(h, request("k", ""))
		if size+len("Content-Type: text/plain\n") <= 16<<10 {
			if first.Code != 200 || first.Body.Len() != size {
				t.Errorf("%d bytes: %d", size, first.Code)
			}
		} else {
			wantCode(t, first, 500, "idempotency_response_too_large")
		}
		wantReplay(t, first, do(h, request("k", "")))
		if g.runs != 1 {
			t.Errorf("%d bytes: %d runs", size, g.runs)
		}
	}
}

func TestHangUp(t *testing.T) {
	g := newRig(t)
	ctx, hangUp := context.WithCancel(context.Background())
	h := g.typed(policy(), func(inner context.Context) (*runtime.Response, error) {
		hangUp()
		if err := inner.Err(); err != nil {
			t.Errorf("the handler's context ended with the client: %v", err)
		}
		if _, bounded := inner.Deadline(); !bounded {
			t.Error("the handler has no deadline")
		}
		return created(inner)
	})
	first := do(h, request("k", "").WithContext(ctx))
	wantReplay(t, first, do(h, request("k", "")))
	if g.runs != 1 {
		t.Errorf("%d runs", g.runs)
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

func TestMiddleware(t *testing.T) {
	g := newRig(t)
	m, err := runtime.NewMiddleware(policy(), g.ledger, bearer)
	if err != nil {
		t.Fatal(err)
	}
	var wrap func(http.Handler) http.Handler = m.Wrap
	runs := 0
	h := wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		runs++
		w.WriteHeader(201)
		w.Write(readAll(t, r.Body))
	}))
	first := do(h, request("k", "abc"))
	wantReplay(t, first, do(h, request("k", "abc")))
	get := request("", "", func(r *http.Request) { r.Method = "GET" })
	if w := do(h, get); w.Code != 201 || runs != 2 {
		t.Errorf("GET: %d, %d runs", w.Code, runs)
	}
	if err := m.Close(context.Background()); err != nil {
		t.Error(err)
	}
	bad := policy()
	bad.Lease = 0
	if _, err := runtime.NewMiddleware(bad, g.ledger, bearer); err == nil || !strings.Contains(err.Error(), "Lease: 0s is too short") {
		t.Errorf("a bad policy: %v", err)
	}
}

// Routers other than ServeMux leave the request's wildcards empty.
func TestWildcardsOnAnyRouter(t *testing.T) {
	g := newRig(t)
	h := g.server.Handle(policy(), runtime.Route{Method: "POST", Pattern: "/v1/orders/{id}/lines/{line}"},
		func(r *runtime.Request) (runtime.Work, error) {
			return func(context.Context) (*runtime.Response, error) {
				return &runtime.Response{Body: []byte(r.PathValue("id") + "," + r.PathValue("line"))}, nil
			}, nil
		})
	w := do(h, request("k", "", func(r *http.Request) {
		r.URL.Path = "/v1/orders/a b/lines/2"
		r.RequestURI = "/v1/orders/a%20b/lines/2"
	}))
	if w.Code != 200 || w.Body.String() != "a b,2" {
		t.Errorf("got %d %q", w.Code, w.Body)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /v1/orders/{id}/lines/{line}", h)
	w = do(mux, request("l", "", func(r *http.Request) { r.URL.Path = "/v1/orders/7/lines/3" }))
	if w.Code != 200 || w.Body.String() != "7,3" {
		t.Errorf("behind a ServeMux: %d %q", w.Code, w.Body)
	}
}

func TestConstructorsRefuse(t *testing.T) {
	g := newRig(t)
	if _, err := runtime.NewServer(nil, bearer); err == nil {
		t.Error("nil ledger accepted")
	}
	if _, err := runtime.NewServer(g.ledger, nil); err == nil {
		t.Error("nil principal function accepted")
	}
	for name, option := range map[string]runtime.Option{
		"observer": runtime.WithObserver(nil), "logger": runtime.WithLogger(nil),
		"secret": runtime.WithKeyHashSecret([]byte("short")), "authorize": runtime.WithAuthorize(nil), "challenge": runtime.WithChallenge(""),
	} {
		if _, err := runtime.NewServer(g.ledger, bearer, option); err == nil {
			t.Errorf("%s accepted", name)
		}
	}
	server, err := runtime.NewServer(g.ledger, bearer)
	if err != nil {
		t.Fatal(err)
	}
	server.Handle(runtime.Policy{Operation: "POST /x"}, orders, nil)
	if err := server.Err(); err == nil || !strings.Contains(err.Error(), `policy of "POST /x"`) {
		t.Errorf("zero policy: %v", err)
	}
}
