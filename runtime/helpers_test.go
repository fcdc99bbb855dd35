package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/memory"
)

// clock is a ledger's clock that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.UnixMilli(1_700_000_000_000)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// faulty is a ledger on which tests replace single methods.
type faulty struct {
	runtime.Ledger
	insert   func(context.Context, runtime.Claim) (runtime.Claimed, bool, error)
	takeOver func(context.Context, runtime.Fence, runtime.Claim) (runtime.Claimed, bool, error)
	read     func(context.Context, runtime.ID) (runtime.Row, bool, error)
	complete func(context.Context, runtime.Completion) (bool, error)
	renew    func(context.Context, runtime.Fence, runtime.Terms) (runtime.Claimed, bool, error)
	release  func(context.Context, runtime.Fence) (bool, error)
	endLease func(context.Context, runtime.Fence) (bool, error)
	sweep    func(context.Context, int) (int, error)
}

func (f *faulty) Insert(ctx context.Context, c runtime.Claim) (runtime.Claimed, bool, error) {
	if f.insert != nil {
		return f.insert(ctx, c)
	}
	return f.Ledger.Insert(ctx, c)
}

func (f *faulty) TakeOver(ctx context.Context, seen runtime.Fence, c runtime.Claim) (runtime.Claimed, bool, error) {
	if f.takeOver != nil {
		return f.takeOver(ctx, seen, c)
	}
	return f.Ledger.TakeOver(ctx, seen, c)
}

func (f *faulty) Read(ctx context.Context, id runtime.ID) (runtime.Row, bool, error) {
	if f.read != nil {
		return f.read(ctx, id)
	}
	return f.Ledger.Read(ctx, id)
}

func (f *faulty) Renew(ctx context.Context, fence runtime.Fence, terms runtime.Terms) (runtime.Claimed, bool, error) {
	if f.renew != nil {
		return f.renew(ctx, fence, terms)
	}
	return f.Ledger.Renew(ctx, fence, terms)
}

func (f *faulty) Complete(ctx context.Context, c runtime.Completion) (bool, error) {
	if f.complete != nil {
		return f.complete(ctx, c)
	}
	return f.Ledger.Complete(ctx, c)
}

func (f *faulty) Release(ctx context.Context, fence runtime.Fence) (bool, error) {
	if f.release != nil {
		return f.release(ctx, fence)
	}
	return f.Ledger.Release(ctx, fence)
}

func (f *faulty) EndLease(ctx context.Context, fence runtime.Fence) (bool, error) {
	if f.endLease != nil {
		return f.endLease(ctx, fence)
	}
	return f.Ledger.EndLease(ctx, fence)
}

func (f *faulty) Sweep(ctx context.Context, limit int) (int, error) {
	if f.sweep != nil {
		return f.sweep(ctx, limit)
	}
	return f.Ledger.Sweep(ctx, limit)
}

// events collects what an observer is told.
type events struct {
	mu  sync.Mutex
	all []runtime.Event
}

func (e *events) Observe(_ context.Context, event runtime.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

func (e *events) kinds() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var kinds []string
	for _, event := range e.all {
		kinds = append(kinds, string(event.Kind))
	}
	return strings.Join(kinds, " ")
}

// rig is a server on a memory ledger whose time stands still unless moved.
type rig struct {
	t      *testing.T
	clock  *clock
	ledger *faulty
	server *runtime.Server
	events *events
	log    *logBuffer
	runs   int
}

func newRig(t *testing.T, opts ...runtime.Option) *rig {
	t.Helper()
	g := &rig{t: t, clock: newClock(), events: &events{}, log: &logBuffer{}}
	g.ledger = &faulty{Ledger: memory.New(memory.WithClock(g.clock.Now))}
	all := append([]runtime.Option{
		runtime.WithObserver(g.events),
		runtime.WithLogger(slog.New(slog.NewTextHandler(g.log, nil))),
	}, opts...)
	server, err := runtime.NewServer(g.ledger, bearer, all...)
	if err != nil {
		t.Fatal(err)
	}
	g.server = server
	t.Cleanup(func() {
		if err := server.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return g
}

// bearer takes the credentials of a test for the caller's name.
func bearer(r *http.Request) (string, error) {
	name, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !found {
		return "", errors.New("no credentials")
	}
	return name, nil
}

// quiet keeps what a test does not look at out of its output.
var quiet = runtime.WithLogger(slog.New(slog.DiscardHandler))

var orders = runtime.Route{Method: "POST", Pattern: "/v1/orders", Status: 201}

// typed serves work that counts its runs and answers with fn.
func (g *rig) typed(p runtime.Policy, fn runtime.Work) http.Handler {
	g.t.Helper()
	h := g.server.Handle(p, orders, func(*runtime.Request) (runtime.Work, error) {
		return func(ctx context.Context) (*runtime.Response, error) {
			g.runs++
			return fn(ctx)
		}, nil
	})
	if err := g.server.Err(); err != nil {
		g.t.Fatal(err)
	}
	return h
}

// standard serves a standard handler that counts its runs.
func (g *rig) standard(p runtime.Policy, fn http.HandlerFunc) http.Handler {
	g.t.Helper()
	h := g.server.HandleFunc(p, orders, func(w http.ResponseWriter, r *http.Request) {
		g.runs++
		fn(w, r)
	})
	if err := g.server.Err(); err != nil {
		g.t.Fatal(err)
	}
	return h
}

func created(context.Context) (*runtime.Response, error) {
	return &runtime.Response{Header: http.Header{"Location": {"/v1/orders/7"}}, Body: []byte(`{"id":7}`)}, nil
}

// request is alice's order under a key; change may alter it.
func request(key, body string, change ...func(*http.Request)) *http.Request {
	r := httptest.NewRequest("POST", "/v1/orders", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer alice")
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	for _, f := range change {
		f(r)
	}
	return r
}

func do(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// wantCode checks status and code of an error answer.
func wantCode(t *testing.T, w *httptest.ResponseRecorder, status int, code string) {
	t.Helper()
	if w.Code != status || !strings.Contains(w.Body.String(), `"`+code+`"`) {
		t.Errorf("got %d %s, want %d %s", w.Code, w.Body, status, code)
	}
}

// wantReplay checks that again repeats first byte for byte.
func wantReplay(t *testing.T, first, again *httptest.ResponseRecorder) {
	t.Helper()
	if first.Code != again.Code || !bytes.Equal(first.Body.Bytes(), again.Body.Bytes()) {
		t.Errorf("replay is %d %q, the first answer was %d %q", again.Code, again.Body, first.Code, first.Body)
	}
	if again.Header().Get("Idempotency-Replayed") != "true" || first.Header().Get("Idempotency-Replayed") != "" {
		t.Errorf("replay marker is %q on the first answer and %q on the replay",
			first.Header().Get("Idempotency-Replayed"), again.Header().Get("Idempotency-Replayed"))
	}
	header := again.Header().Clone()
	header.Del("Idempotency-Replayed")
	if got, want := headerText(header), headerText(first.Header()); got != want {
		t.Errorf("replay's header is\n%s\nthe first answer's was\n%s", got, want)
	}
}

func headerText(h http.Header) string {
	var b strings.Builder
	h.Write(&b)
	return b.String()
}

// logBuffer is a log that tests read.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func readAll(t *testing.T, r io.Reader) []byte {
	t.Helper()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// logTo writes a server's log to a buffer.
func logTo(l *logBuffer) runtime.Option {
	return runtime.WithLogger(slog.New(slog.NewTextHandler(l, nil)))
}

// failWith is work that ends with an error.
func failWith(err error) runtime.Work {
	return func(context.Context) (*runtime.Response, error) { return nil, err }
}
