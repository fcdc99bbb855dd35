package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// members are those of a problem document.
func members(t *testing.T, body string) (m map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return m
}

// wantRetry checks what an answer tells its client to do.
func wantRetry(t *testing.T, body string, want runtime.Retry) {
	t.Helper()
	if got := members(t, body)["retry"]; got != string(want) {
		t.Errorf("retry is %v, want %s: %s", got, want, body)
	}
}

// A client acts on "retry": what work ended with and what becomes of its claim
// decide it, and a replay says the same.
func TestRetryOfFailures(t *testing.T) {
	plain := errors.New("broken")
	status := func(status int) error { return &runtime.Error{Status: status, Message: "no"} }
	for _, c := range []struct {
		failure runtime.Failure
		err     error
		want    runtime.Retry
	}{
		{runtime.FailureStore, status(402), runtime.RetryNewKey},
		{runtime.FailureStore, status(409), runtime.RetryNewKey},
		{runtime.FailureStore, status(422), runtime.RetryNewKey},
		{runtime.FailureStore, status(500), runtime.RetryReconcile},
		{runtime.FailureStore, status(502), runtime.RetryReconcile},
		{runtime.FailureStore, plain, runtime.RetryReconcile},
		{runtime.FailureRelease, plain, runtime.RetrySameKey},
		{runtime.FailureRelease, status(503), runtime.RetrySameKey},
		{runtime.FailureRelease, status(429), runtime.RetrySameKey},
		{runtime.FailureRelease, status(404), runtime.RetryNewKey},
		{runtime.FailureHold, status(425), runtime.RetrySameKey},
		{runtime.FailureStore, runtime.Release(status(402)), runtime.RetrySameKey},
		{runtime.FailureStore, runtime.Hold(plain), runtime.RetrySameKey},
	} {
		g := newRig(t)
		p := policy()
		p.Failure = c.failure
		h := g.typed(p, func(context.Context) (*runtime.Response, error) { return nil, c.err })
		first := do(h, request("k", "1"))
		wantRetry(t, first.Body.String(), c.want)
		if c.want == runtime.RetryNewKey || c.want == runtime.RetryReconcile {
			wantReplay(t, first, do(h, request("k", "1")))
		}
	}
}

func TestRetryOfRefusals(t *testing.T) {
	p := policy()
	p.RequestMax, p.Gone, p.Mismatch = 8, time.Hour, 409
	g := newRig(t, runtime.WithAuthorize(func(r *http.Request, principal, _ string) error {
		if principal == "busy" {
			return &runtime.Error{Status: 503, Code: "rights_unknown"}
		}
		if principal == "mallory" {
			return errors.New("no")
		}
		return nil
	}))
	h := g.typed(p, created)
	as := func(name string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+name) }
	}
	do(h, request("k", "1"))
	for name, c := range map[string]struct {
		r      *http.Request
		status int
		want   runtime.Retry
	}{
		"no key":     {request("", "1"), 400, runtime.RetryFixRequest},
		"bad key":    {request("\x7f", "1"), 400, runtime.RetryFixRequest},
		"reused":     {request("k", "2"), 409, runtime.RetryFixRequest},
		"too large":  {request("l", "123456789"), 413, runtime.RetryFixRequest},
		"broken off": {request("l", "1", func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(broken{}), -1 }), 400, runtime.RetrySameKey},
		"nobody":     {request("l", "1", func(r *http.Request) { r.Header.Del("Authorization") }), 401, runtime.RetryFixRequest},
		"forbidden":  {request("l", "1", as("mallory")), 403, runtime.RetryFixRequest},
		"passing":    {request("l", "1", as("busy")), 503, runtime.RetrySameKey},
	} {
		w := do(h, c.r)
		if w.Code != c.status {
			t.Errorf("%s: %d", name, w.Code)
		}
		wantRetry(t, w.Body.String(), c.want)
	}
	g.clock.move(p.Retain + time.Minute)
	wantRetry(t, do(h, request("k", "1")).Body.String(), runtime.RetryReconcile)
	g.ledger.insert = func(context.Context, runtime.Claim) (runtime.Claimed, bool, error) {
		return runtime.Claimed{}, false, runtime.ErrUnavailable
	}
	wantRetry(t, do(h, request("down", "1")).Body.String(), runtime.RetrySameKey)
	g.ledger.insert = nil
	big := g.typed(policy(), func(context.Context) (*runtime.Response, error) {
		return &runtime.Response{Body: make([]byte, 1<<20)}, nil
	})
	w := do(big, request("big", "1"))
	wantRetry(t, w.Body.String(), runtime.RetryReconcile)
	wantReplay(t, w, do(big, request("big", "1")))
}

// broken is a body that breaks off.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestRetryInProgress(t *testing.T) {
	g := newRig(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	h := g.typed(policy(), func(ctx context.Context) (*runtime.Response, error) {
		close(entered)
		<-leave
		return created(ctx)
	})
	done := make(chan struct{})
	go func() { defer close(done); do(h, request("k", "1")) }()
	<-entered
	wantRetry(t, do(h, request("k", "1")).Body.String(), runtime.RetrySameKey)
	close(leave)
	<-done
}

// Without a key nothing keeps a second request from running too.
func TestRetryWithoutKey(t *testing.T) {
	for status, want := range map[int]runtime.Retry{402: runtime.RetryFixRequest, 429: runtime.RetrySameKey, 503: runtime.RetrySameKey, 500: runtime.RetryReconcile} {
		g := newRig(t)
		p := policy()
		p.KeyOptional = true
		h := g.typed(p, func(context.Context) (*runtime.Response, error) { return nil, &runtime.Error{Status: status} })
		w := do(h, request("", "1"))
		if w.Code != status {
			t.Errorf("%d became %d", status, w.Code)
		}
		wantRetry(t, w.Body.String(), want)
	}
}

// peerError is an error of the service's own that says a status.
type peerError struct{ text string }

func (e peerError) Error() string   { return e.text }
func (e peerError) HTTPStatus() int { return 404 }

// Only the error itself decides: what it wraps may be what another service has
// decided, and neither its status nor its text is ours.
func TestOnlyTheErrorItselfDecides(t *testing.T) {
	own := &runtime.Error{Status: 404, Code: "secret_code", Message: "There is no such order.", Cause: errors.New("secret_column")}
	for name, c := range map[string]struct {
		err    error
		status int
		detail string
	}{
		"own type":        {peerError{"There is no such order."}, 404, "There is no such order."},
		"Error":           {own, 404, "There is no such order."},
		"released":        {runtime.Release(peerError{"There is no such order."}), 404, "There is no such order."},
		"held, released":  {runtime.Hold(runtime.Release(own)), 404, "There is no such order."},
		"wrapped":         {fmt.Errorf("secret: %w", peerError{"secret"}), 500, "The request could not be processed."},
		"wrapped Error":   {fmt.Errorf("charge: %w", own), 500, "The request could not be processed."},
		"marked, wrapped": {runtime.Release(fmt.Errorf("charge: %w", own)), 500, "The request could not be processed."},
		"joined":          {errors.Join(errors.New("secret"), own), 500, "The request could not be processed."},
		"cause":           {&runtime.Error{Status: 502, Message: "The bank is away.", Cause: own}, 502, "The bank is away."},
		"cause alone":     {&runtime.Error{Cause: own}, 500, "The request could not be processed."},
	} {
		g := newRig(t)
		p := policy()
		p.Failure = runtime.FailureStore
		h := g.typed(p, func(context.Context) (*runtime.Response, error) { return nil, c.err })
		w := do(h, request("k", "1"))
		if detail := members(t, w.Body.String())["detail"]; w.Code != c.status || detail != c.detail || strings.Contains(w.Body.String(), "secret") && c.status == 500 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	// The same where the caller is named, its rights are checked and its
	// request is decoded.
	wrapped := fmt.Errorf("secret: %w", peerError{"Not yours."})
	g := newRig(t, runtime.WithAuthorize(func(*http.Request, string, string) error { return wrapped }))
	w := do(g.typed(policy(), created), request("k", "1"))
	if w.Code != 403 || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	g = newRig(t)
	server, err := runtime.NewServer(g.ledger, func(*http.Request) (string, error) { return "", wrapped }, quiet)
	if err != nil {
		t.Fatal(err)
	}
	w = do(server.Handle(policy(), orders, func(*runtime.Request) (runtime.Work, error) { return created, nil }), request("k", "1"))
	if w.Code != 401 || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestProblemBaseAndMembers(t *testing.T) {
	failure := &runtime.Error{Status: 409, Code: "out_of_stock", Message: "None is left.",
		Members: map[string]any{"sku": "tea", "status": 200, "retry": "never", "bad": make(chan int), "worse": panics{}}}
	g := newRig(t, runtime.WithProblemBase("https://shop.example/problems#"))
	h := g.typed(policy(), func(context.Context) (*runtime.Response, error) { return nil, failure })
	const want = `{"type":"https://shop.example/problems#out_of_stock","title":"Out of stock","status":409,"detail":"None is left.",` +
		`"error":"out_of_stock","message":"None is left.","retry":"new-key","sku":"tea"}`
	w := do(h, request("k", "1"))
	if w.Body.String() != want {
		t.Errorf("got  %s\nwant %s", w.Body, want)
	}
	wantReplay(t, w, do(h, request("k", "1")))
	if log := g.log.String(); !strings.Contains(log, "member=bad") || !strings.Contains(log, "member=worse") {
		t.Errorf("members that do not encode are left out in silence: %s", log)
	}
	w = do(h, request("", "1"))
	if m := members(t, w.Body.String()); m["type"] != "https://shop.example/problems#idempotency_key_required" {
		t.Errorf("%s", w.Body)
	}

	failure.Type, failure.Title = "tag:shop.example,2026:stock", "Sold out"
	if m := members(t, do(h, request("k2", "1")).Body.String()); m["type"] != failure.Type || m["title"] != failure.Title {
		t.Errorf("%v", m)
	}
}

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("no") }

// Without a base the service's own codes have no page that describes them.
func TestProblemTypeOfOwnCode(t *testing.T) {
	g := newRig(t)
	h := g.typed(policy(), func(context.Context) (*runtime.Response, error) {
		return nil, &runtime.Error{Status: 404, Code: "order_unknown"}
	})
	if m := members(t, do(h, request("k", "1")).Body.String()); m["type"] != "about:blank" || m["title"] != "Not Found" || m["error"] != "order_unknown" {
		t.Errorf("%v", m)
	}
}

func TestProblemBaseIsChecked(t *testing.T) {
	for _, base := range []string{"", "/problems#", "://", "https://a\n"} {
		if _, err := runtime.NewEngine(newRig(t).ledger, runtime.WithProblemBase(base)); err == nil {
			t.Errorf("%q passes", base)
		}
	}
	if _, err := runtime.NewEngine(newRig(t).ledger, runtime.WithProblemRenderer(nil)); err == nil {
		t.Error("a nil renderer passes")
	}
}

func TestProblemRenderer(t *testing.T) {
	g := newRig(t, runtime.WithProblemRenderer(func(ctx context.Context, p runtime.Problem) (string, []byte) {
		switch p.Code {
		case runtime.CodeKeyInvalid:
			panic("no")
		case runtime.CodeUnauthenticated:
			return "", nil
		}
		return "text/plain", fmt.Appendf(nil, "%s %s %s", p.Code, p.Retry, runtime.Principal(ctx))
	}))
	h := g.typed(policy(), func(context.Context) (*runtime.Response, error) {
		return nil, &runtime.Error{Status: 500, Code: "bank_closed", RetryAfter: time.Minute}
	})
	w := do(h, request("k", "1"))
	if w.Body.String() != "bank_closed reconcile alice" || w.Code != 500 || w.Header().Get("Retry-After") != "60" || w.Header().Get("Content-Type") != "text/plain" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	wantReplay(t, w, do(h, request("k", "1")))
	if w := do(h, request("", "1")); w.Body.String() != "idempotency_key_required fix-request " {
		t.Errorf("%s", w.Body)
	}
	wantRetry(t, do(h, request("\x7f", "1")).Body.String(), runtime.RetryFixRequest)
	if !strings.Contains(g.log.String(), "WithProblemRenderer panicked") {
		t.Error("a panic leaves no line in the log")
	}
	nobody := request("k", "1", func(r *http.Request) { r.Header.Del("Authorization") })
	wantRetry(t, do(h, nobody).Body.String(), runtime.RetryFixRequest)
}

// Every code has its section, and its problem type leads there.
func TestEveryCodeIsDescribed(t *testing.T) {
	source, err := os.ReadFile("errors.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/problems.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`(?m)^\tCode\w+ += "(\w+)"`).FindAllStringSubmatch(string(source), -1)
	if len(codes) < 17 {
		t.Fatalf("%d codes were found", len(codes))
	}
	for _, code := range codes {
		g := newRig(t, runtime.WithAuthorize(func(*http.Request, string, string) error {
			return &runtime.Error{Status: 400, Code: code[1]}
		}))
		m := members(t, do(g.typed(policy(), created), request("k", "1")).Body.String())
		if !strings.HasSuffix(fmt.Sprint(m["type"]), "/docs/problems.md#"+code[1]) {
			t.Errorf("%s: its type is %v", code[1], m["type"])
		}
		if !strings.Contains(string(page), "\n## "+code[1]+"\n") || !strings.Contains(string(page), "| [`"+code[1]+"`](#"+code[1]+") |") {
			t.Errorf("docs/problems.md lacks the section or the line of %s", code[1])
		}
	}
}
