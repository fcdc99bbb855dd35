// Package changes_test shows what a deploy that changes a policy does to the
// retries in flight: two servers, one under the old policy and one under the
// new, share a ledger, as they do while a deploy goes on.
package changes_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/memory"
)

// old is the policy before the deploy.
func old() runtime.Policy {
	p := runtime.DefaultPolicy("POST /v1/orders")
	p.Lease, p.Timeout, p.Retain = 30*time.Second, 25*time.Second, 24*time.Hour
	return p
}

// The outcomes of a retry.
const (
	replayed = "replayed"        // the stored answer
	runs     = "runs"            // the handler runs again
	waits    = "409 in progress" // the owner has its lease
	reused   = "422 reused"      // another request under the key
	tooLarge = "413 too large"   // refused before the ledger is asked
	badKey   = "400 key"         // likewise
	jsonForm = "422 reused as JSON"

	cut = "replayed without a header" // one that is on the list no more

	runsTooLarge = "runs, and its answer is too large"
)

// outcomes are those of retries that the new server gets of a key that the old
// one has claimed.
type outcomes struct {
	answered string // after the old one's answer
	pending  string // while the old one's handler runs
	late     string // after the old lease, while it still runs
	differs  string // another request under the answered key
	expired  string // after the old retention
}

// kept are the outcomes without any change: the promises of the old policy.
var kept = outcomes{replayed, waits, runs, reused, runs}

func TestChanges(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*runtime.Policy)
		want   func(*outcomes)
	}{
		// What is safe: a row carries its lease, its retention and its rule.
		{"nothing", func(*runtime.Policy) {}, nil},
		{"lease longer", func(p *runtime.Policy) { p.Lease = time.Hour }, nil},
		{"lease shorter", func(p *runtime.Policy) { p.Lease, p.Timeout = 5*time.Second, 3*time.Second }, nil},
		{"timeout", func(p *runtime.Policy) { p.Timeout = time.Second }, nil},
		{"renewal", func(p *runtime.Policy) { p.Renew, p.Timeout = true, time.Hour }, nil},
		{"retention longer", func(p *runtime.Policy) { p.Retain = 48 * time.Hour }, nil},
		{"retention shorter", func(p *runtime.Policy) { p.Retain = time.Minute }, nil},
		{"remembered afterwards", func(p *runtime.Policy) { p.Gone = time.Hour }, nil},
		{"sweep", func(p *runtime.Policy) { p.Sweep = 1000 }, nil},
		{"response limit", func(p *runtime.Policy) { p.ResponseMax = runtime.MinResponse }, func(o *outcomes) {
			o.late, o.expired = runsTooLarge, runsTooLarge // what runs under the new policy answers under it
		}},
		{"more replayed headers", func(p *runtime.Policy) { p.Replay = append(p.Replay, "Link") }, nil},
		{"replayed headers", func(p *runtime.Policy) { p.Replay = nil }, func(o *outcomes) { o.answered = cut }},
		{"failure policy", func(p *runtime.Policy) { p.Failure = runtime.FailureHold }, nil},
		{"wider allowlist", func(p *runtime.Policy) { p.Fingerprint.Headers = []string{"content-type", "x-api-version"} }, nil},
		{"narrower allowlist", func(p *runtime.Policy) { p.Fingerprint.Headers = nil }, nil},
		{"body by meaning", func(p *runtime.Policy) { p.Fingerprint.Body = runtime.BodyJSON }, nil},
		{"name under scope principal", func(p *runtime.Policy) { p.Operation = "POST /v2/orders" }, nil},
		{"error form", func(p *runtime.Policy) { p.Errors = runtime.ErrorsJSON }, func(o *outcomes) { o.differs = jsonForm }},

		// What a new limit refuses it refuses to retries, too; nothing runs.
		{"request limit", func(p *runtime.Policy) { p.RequestMax = 3 }, func(o *outcomes) {
			*o = outcomes{tooLarge, tooLarge, tooLarge, tooLarge, tooLarge}
		}},
		{"key length", func(p *runtime.Policy) { p.KeyMax = 2 }, func(o *outcomes) {
			*o = outcomes{badKey, badKey, badKey, badKey, badKey}
		}},

		// What generation takes with -accept only: the row is not found, or the
		// key is not taken although its request ran.
		{"key header", func(p *runtime.Policy) { p.KeyHeader, p.KeyOptional = "X-Key", true }, func(o *outcomes) {
			*o = outcomes{runs, runs, runs, runs, runs}
		}},
		{"key syntax", func(p *runtime.Policy) { p.KeySyntax = runtime.KeySF }, func(o *outcomes) {
			*o = outcomes{badKey, badKey, badKey, badKey, badKey}
		}},
		{"scope", func(p *runtime.Policy) { p.Scope = runtime.ScopeOperation }, func(o *outcomes) {
			*o = outcomes{runs, runs, runs, runs, runs}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			renewed := old()
			c.change(&renewed)
			want := kept
			if c.want != nil {
				c.want(&want)
			}
			compare(t, old(), renewed, want)
		})
	}
	t.Run("name under scope operation", func(t *testing.T) {
		before, after := old(), old()
		before.Scope, after.Scope = runtime.ScopeOperation, runtime.ScopeOperation
		after.Operation = "POST /v2/orders"
		compare(t, before, after, outcomes{runs, runs, runs, runs, runs})
	})
}

// compare brings a key into each state on a ledger of its own, and retries it
// at the new server.
func compare(t *testing.T, before, after runtime.Policy, want outcomes) {
	t.Helper()
	states := []struct {
		name, want string
		outcome    func(*deploy) string
	}{
		{"answered", want.answered, func(d *deploy) string {
			d.send(d.old, body)
			return d.outcome(body)
		}},
		{"pending", want.pending, func(d *deploy) string {
			finish := d.begin()
			defer finish()
			d.move(10 * time.Second) // longer than any new lease that is shorter
			return d.outcome(body)
		}},
		{"late", want.late, func(d *deploy) string {
			finish := d.begin()
			defer finish()
			d.move(31 * time.Second)
			return d.outcome(body)
		}},
		{"differs", want.differs, func(d *deploy) string {
			d.send(d.old, body)
			return d.outcome(`{"sku":"coffee"}`)
		}},
		{"still kept", want.answered, func(d *deploy) string {
			d.send(d.old, body)
			d.move(23 * time.Hour) // longer than any new retention that is shorter
			return d.outcome(body)
		}},
		{"expired", want.expired, func(d *deploy) string {
			d.send(d.old, body)
			d.move(25 * time.Hour)
			return d.outcome(body)
		}},
	}
	for _, state := range states {
		if got := state.outcome(newDeploy(t, before, after)); got != state.want {
			t.Errorf("%s: %s, want %s", state.name, got, state.want)
		}
	}
}

const body = `{"sku":"tea"}`

// deploy is two servers on one ledger.
type deploy struct {
	t            *testing.T
	old, renewed http.Handler
	runs         atomic.Int64
	hold         chan struct{} // a handler of the old server waits for it, unless nil
	held         chan struct{}

	mu  sync.Mutex
	now time.Time
}

func newDeploy(t *testing.T, before, after runtime.Policy) *deploy {
	t.Helper()
	d := &deploy{t: t, now: time.UnixMilli(1_700_000_000_000)}
	ledger := memory.New(memory.WithClock(func() time.Time {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.now
	}))
	serve := func(p runtime.Policy, hold bool) http.Handler {
		server, err := runtime.NewServer(ledger, func(*http.Request) (string, error) { return "alice", nil }, runtime.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := server.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		h := server.Handle(p, runtime.Route{Method: "POST", Pattern: "/v1/orders", Status: 201}, func(r *runtime.Request) (runtime.Work, error) {
			return func(context.Context) (*runtime.Response, error) {
				if hold && d.hold != nil {
					close(d.held)
					<-d.hold
				}
				d.runs.Add(1)
				answer := strings.Repeat("An answer that is longer than some limits. ", 40)
				return &runtime.Response{Header: http.Header{"Location": {"/v1/orders/7"}}, Body: []byte(answer)}, nil
			}, nil
		})
		if err := server.Err(); err != nil {
			t.Fatal(err)
		}
		return h
	}
	d.old, d.renewed = serve(before, true), serve(after, false)
	return d
}

// move moves the ledger's clock.
func (d *deploy) move(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = d.now.Add(by)
}

// send sends a request under the one key.
func (d *deploy) send(h http.Handler, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/v1/orders", strings.NewReader(body))
	r.Header.Set("Idempotency-Key", "the-key")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Api-Version", "1")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// begin starts a request at the old server, whose handler runs until finish is
// called.
func (d *deploy) begin() (finish func()) {
	d.hold, d.held = make(chan struct{}), make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.send(d.old, body)
	}()
	<-d.held
	return func() {
		close(d.hold)
		<-done
	}
}

// outcome sends a retry to the new server and says what comes of it.
func (d *deploy) outcome(body string) string {
	before := d.runs.Load()
	w := d.send(d.renewed, body)
	retryAfter, _ := strconv.Atoi(w.Header().Get("Retry-After"))
	ran, code := d.runs.Load() > before, w.Body.String()
	has := func(what string) bool { return strings.Contains(code, what) }
	switch {
	case ran && w.Code == 201:
		return runs
	case ran && w.Code == 500 && has("idempotency_response_too_large"):
		return runsTooLarge
	case w.Code == 201 && w.Header().Get("Idempotency-Replayed") == "true" && w.Header().Get("Location") == "/v1/orders/7":
		return replayed
	case w.Code == 201 && w.Header().Get("Idempotency-Replayed") == "true" && w.Header().Get("Location") == "":
		return cut
	case w.Code == 409 && has("idempotency_key_in_progress") && retryAfter >= 1 && retryAfter <= 20:
		return waits // at most for what is left of the old lease
	case w.Code == 422 && has("idempotency_key_reused") && w.Header().Get("Content-Type") == "application/problem+json":
		return reused
	case w.Code == 422 && has("idempotency_key_reused") && !has(`"type"`):
		return jsonForm
	case w.Code == 413 && has("request_body_too_large"):
		return tooLarge
	case w.Code == 400 && has("idempotency_key_invalid"):
		return badKey
	default:
		return http.StatusText(w.Code) + " " + code
	}
}
