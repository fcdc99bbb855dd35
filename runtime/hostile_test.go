package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/memory"
)

// counted is a ledger that knows how many of its transactions are open.
type counted struct {
	*onceLedger
	open   atomic.Int64
	panics bool // at the completion
}

type countedTx struct {
	runtime.OnceTx[*bookTx]
	ledger *counted
	ended  atomic.Bool
}

func (t *countedTx) end() {
	if !t.ended.Swap(true) {
		t.ledger.open.Add(-1)
	}
}

func (t *countedTx) Complete(ctx context.Context, c runtime.Completion) (bool, error) {
	if t.ledger.panics {
		panic("hostile")
	}
	return t.OnceTx.Complete(ctx, c)
}

func (t *countedTx) Commit(ctx context.Context) error {
	defer t.end()
	return t.OnceTx.Commit(ctx)
}

func (t *countedTx) Rollback(ctx context.Context) error {
	defer t.end()
	return t.OnceTx.Rollback(ctx)
}

// twiceTx is the transaction of a claim that stands.
type twiceTx struct{ runtime.Tx[*bookTx] }

func (twiceTx) Undo(context.Context) error { return errors.New("not once") }

func (l *counted) Begin(ctx context.Context, f runtime.Fence, d time.Duration) (runtime.Tx[*bookTx], bool, error) {
	tx, ok, err := l.onceLedger.Begin(ctx, f, d)
	if !ok || err != nil {
		return nil, ok, err
	}
	l.open.Add(1)
	return &countedTx{OnceTx: twiceTx{tx}, ledger: l}, true, nil
}

func (l *counted) BeginOnce(ctx context.Context, c runtime.Claim) (runtime.OnceTx[*bookTx], runtime.Claimed, bool, error) {
	tx, claimed, ok, err := l.onceLedger.BeginOnce(ctx, c)
	if !ok || err != nil {
		return nil, claimed, ok, err
	}
	l.open.Add(1)
	return &countedTx{OnceTx: tx, ledger: l}, claimed, true, nil
}

// hostile is a server whose user code is.
type hostile struct {
	t      *testing.T
	ledger *counted
	server *runtime.Server
	engine *runtime.Engine
	wrap   func(runtime.Policy) *runtime.Middleware
	closes []func(context.Context) error
	runs   atomic.Int64
}

func newHostile(t *testing.T, opts ...runtime.Option) *hostile {
	t.Helper()
	l := &counted{onceLedger: &onceLedger{txLedger: &txLedger{faulty: &faulty{Ledger: memory.New()}}}}
	h := &hostile{t: t, ledger: l}
	opts = append([]runtime.Option{quiet}, opts...)
	var err error
	if h.server, err = runtime.NewServer(l, bearer, opts...); err != nil {
		t.Fatal(err)
	}
	if h.engine, err = runtime.NewEngine(l, opts...); err != nil {
		t.Fatal(err)
	}
	h.wrap = func(p runtime.Policy) *runtime.Middleware {
		m, err := runtime.NewMiddleware(p, l, bearer, opts...)
		if err != nil {
			t.Fatal(err)
		}
		h.closes = append(h.closes, m.Close)
		return m
	}
	h.closes = append(h.closes, h.server.Close, h.engine.Close)
	return h
}

// close waits for what runs in the background, with patience for what blocks.
func (h *hostile) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	for _, end := range h.closes {
		if err := end(ctx); err != nil {
			h.t.Errorf("Close: %v", err)
		}
	}
}

// hostileShapes are the shapes of methods and the commit modes.
var hostileShapes = []string{"typed", "standard", "middleware", "do", "twice", "once"}

// serve is a handler of a shape. A standard handler has no error to return: it
// panics with it.
func (h *hostile) serve(shape string, p runtime.Policy, work func(context.Context) error) http.Handler {
	h.t.Helper()
	p.Once = shape == "once"
	respond := func(ctx context.Context) (*runtime.Response, error) {
		h.runs.Add(1)
		if err := work(ctx); err != nil {
			return nil, err
		}
		return created(ctx)
	}
	standard := func(w http.ResponseWriter, r *http.Request) {
		if response, err := respond(r.Context()); err != nil {
			panic(err)
		} else {
			w.WriteHeader(201)
			w.Write(response.Body)
		}
	}
	switch shape {
	case "standard":
		return h.server.HandleFunc(p, orders, standard)
	case "middleware":
		return h.wrap(p).Wrap(http.HandlerFunc(standard))
	case "do":
		return h.do(p, respond)
	case "typed":
		return h.server.Handle(p, orders, func(*runtime.Request) (runtime.Work, error) { return respond, nil })
	}
	return runtime.HandleTx(h.server, h.ledger, p, orders, func(*runtime.Request) (runtime.TxWork[*bookTx], error) {
		return func(ctx context.Context, tx *bookTx) (*runtime.Response, error) {
			tx.add("line")
			return respond(ctx)
		}, nil
	})
}

// do serves what Guard.Do comes to, without the HTTP layer.
func (h *hostile) do(p runtime.Policy, respond runtime.Work) http.Handler {
	guard, err := h.engine.Guard(p)
	if err != nil {
		h.t.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		result, err := guard.Do(r.Context(), keyedCall(r.Header.Get("Idempotency-Key")), func(ctx context.Context) (runtime.Answer, error) {
			response, err := respond(ctx)
			if err != nil {
				return runtime.Answer{}, err
			}
			return runtime.Answer{Status: 201, Body: response.Body}, nil
		})
		var refused *runtime.Error
		if errors.As(err, &refused) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(refused.Status)
			fmt.Fprintf(w, `{"error":%q}`, refused.Code)
			return
		}
		if result.Replayed {
			w.Header().Set("Idempotency-Replayed", "true")
		}
		for _, field := range result.Answer.Header {
			w.Header().Set(field.Name, field.Value)
		}
		w.WriteHeader(result.Answer.Status)
		w.Write(result.Answer.Body)
	})
}

// wantNothingOpen says that no transaction and no gate was left behind.
func (h *hostile) wantNothingOpen() {
	h.t.Helper()
	if n := h.ledger.open.Load(); n != 0 {
		h.t.Errorf("%d transactions are open", n)
	}
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	if len(h.ledger.locked) != 0 {
		h.t.Errorf("%d keys are locked", len(h.ledger.locked))
	}
}

// Errors whose methods are not to be trusted.
type (
	panickingError struct{ in string }
	endlessError   struct{}
)

func (e panickingError) Error() string {
	if e.in == "Error" {
		panic("Error")
	}
	return "text"
}

func (e panickingError) Unwrap() error {
	if e.in == "Unwrap" {
		panic("Unwrap")
	}
	return nil
}

func (e panickingError) Is(error) bool {
	if e.in == "Is" {
		panic("Is")
	}
	return false
}

func (e panickingError) As(any) bool {
	if e.in == "As" {
		panic("As")
	}
	return false
}

type panickingStatus struct{ panickingError }

func (panickingStatus) HTTPStatus() int { panic("HTTPStatus") }

func (endlessError) Error() string   { return "text" }
func (e endlessError) Unwrap() error { return e }

type exitingError struct{}

func (exitingError) Error() string { goruntime.Goexit(); return "" }

func hostileErrors() map[string]error {
	var none *runtime.Error
	deep := error(none)
	for range 3 {
		deep = fmt.Errorf("deep: %w", deep)
	}
	return map[string]error{
		"typed nil":            none,
		"typed nil, wrapped":   deep,
		"typed nil, joined":    errors.Join(errors.New("other"), none),
		"typed nil, cause":     &runtime.Error{Status: 409, Cause: none},
		"Error panics":         panickingError{"Error"},
		"Unwrap panics":        panickingError{"Unwrap"},
		"Is panics":            panickingError{"Is"},
		"As panics":            panickingError{"As"},
		"HTTPStatus panics":    panickingStatus{},
		"wraps itself":         endlessError{},
		"member panics":        &runtime.Error{Status: 500, Members: map[string]any{"m": panickingJSON{}}},
		"uncomparable":         uncomparableError{[]string{"text"}},
		"uncomparable, joined": errors.Join(uncomparableError{nil}, uncomparableError{nil}),
	}
}

type uncomparableError []([]string)

func (uncomparableError) Error() string { return "text" }

type panickingJSON struct{}

func (panickingJSON) MarshalJSON() ([]byte, error) { panic("MarshalJSON") }

// Whatever error a handler returns, its request ends and its key is settled by
// the policy.
func TestHostileErrors(t *testing.T) {
	for name, failure := range hostileErrors() {
		for _, mark := range []string{"", "released", "held"} {
			for _, shape := range hostileShapes {
				t.Run(name+mark+"/"+shape, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						h := newHostile(t, runtime.WithObserver(&events{}))
						defer h.close()
						marked := failure
						switch mark {
						case "released":
							marked = runtime.Release(failure)
						case "held":
							marked = runtime.Hold(failure)
						}
						p := policy()
						p.Failure = runtime.FailureStore
						serve := h.serve(shape, p, func(context.Context) error { return marked })
						first := do(serve, request("k", ""))
						h.wantNothingOpen()
						if first.Code != 500 && first.Code != 409 {
							t.Fatalf("first %d %s", first.Code, first.Body)
						}
						again := do(serve, request("k", ""))
						h.wantNothingOpen()
						marks := shape != "standard" && shape != "middleware"
						switch {
						case mark == "released" && marks:
							if h.runs.Load() != 2 {
								t.Errorf("a released request ran %d times", h.runs.Load())
							}
						case mark == "held" && marks:
							wantCode(t, again, 409, runtime.CodeKeyInProgress)
						default:
							wantReplay(t, first, again)
						}
						if !(mark == "released" && marks) && h.runs.Load() != 1 {
							t.Errorf("ran %d times", h.runs.Load())
						}
					})
				})
			}
		}
	}
}

// An error whose method ends the goroutine ends the work.
func TestErrorThatEndsTheGoroutine(t *testing.T) {
	for _, shape := range []string{"typed", "twice", "once"} {
		synctest.Test(t, func(t *testing.T) {
			h := newHostile(t)
			defer h.close()
			p := policy()
			p.Failure = runtime.FailureStore
			serve := h.serve(shape, p, func(context.Context) error { return exitingError{} })
			go do(serve, request("k", ""))
			synctest.Wait()
			h.wantNothingOpen()
			if w := do(serve, request("k", "")); w.Code != 500 || h.runs.Load() != 1 {
				t.Errorf("%s: %d %s, %d runs", shape, w.Code, w.Body, h.runs.Load())
			}
		})
	}
}

// panicker is an observer, a log handler, a sealer and a renderer that panics,
// or blocks until it may go on.
type panicker struct {
	slog.Handler
	block  chan struct{} // nil: it panics
	kind   runtime.EventKind
	acted  atomic.Bool
	always bool
}

func (p *panicker) act() {
	if p.block == nil {
		panic("hostile")
	}
	if !p.acted.Swap(true) || p.always {
		<-p.block
	}
}

func (p *panicker) Observe(_ context.Context, e runtime.Event) {
	if e.Kind == p.kind {
		p.act()
	}
}

func (p *panicker) Handle(context.Context, slog.Record) error           { p.act(); return nil }
func (p *panicker) Enabled(context.Context, slog.Level) bool            { return true }
func (p *panicker) WithAttrs([]slog.Attr) slog.Handler                  { return p }
func (p *panicker) WithGroup(string) slog.Handler                       { return p }
func (p *panicker) Open(_ context.Context, _, b []byte) ([]byte, error) { return b, nil }
func (p *panicker) Seal(_ context.Context, _, b []byte) ([]byte, error) {
	p.act()
	return b, nil
}

// Whatever an observer or a logger does, the work and its answer are as without
// it, and nothing waits for it but the request that tells it.
func TestHostileObserversAndLoggers(t *testing.T) {
	kinds := []runtime.EventKind{runtime.EventClaimed, runtime.EventCompleted, runtime.EventReplayed, runtime.EventHeld, runtime.EventReleased, "log"}
	for _, kind := range kinds {
		for _, blocks := range []bool{false, true} {
			for _, shape := range hostileShapes {
				t.Run(fmt.Sprintf("%s/blocks=%v/%s", kind, blocks, shape), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						bad := &panicker{kind: kind}
						if blocks {
							bad.block = make(chan struct{})
						}
						h := newHostile(t, runtime.WithObserver(bad))
						if kind == "log" {
							h = newHostile(t, runtime.WithLogger(slog.New(bad)))
						}
						p := policy()
						p.Failure = runtime.FailureStore
						serve := h.serve(shape, p, func(ctx context.Context) error {
							switch kind {
							case runtime.EventHeld:
								runtime.HoldClaim(ctx)
							case runtime.EventReleased:
								runtime.ReleaseClaim(ctx)
							case "log":
								return errors.New("failed")
							}
							return nil
						})
						var ended sync.WaitGroup
						for range 2 {
							ended.Go(func() { do(serve, request("k", "")) })
							synctest.Wait()
							h.wantNothingOpen()
						}
						// Nobody else waits for the one that blocks: neither its key
						// nor another is taken.
						for _, key := range []string{"k", "other"} {
							start := time.Now()
							if w := do(serve, request(key, "")); w.Code == 503 {
								t.Errorf("%s: %d %s", key, w.Code, w.Body)
							}
							if took := time.Since(start); took > 0 {
								t.Errorf("%s waited %v", key, took)
							}
						}
						if blocks {
							close(bad.block)
						}
						ended.Wait()
						h.wantNothingOpen()
						h.close()
					})
				})
			}
		}
	}
}

// A sealer that panics or blocks keeps an answer from being stored, and nothing
// else: in a transaction nothing stands, and otherwise it is stored later.
func TestHostileSealers(t *testing.T) {
	for _, blocks := range []bool{false, true} {
		for _, shape := range hostileShapes {
			t.Run(fmt.Sprintf("blocks=%v/%s", blocks, shape), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					bad := &panicker{}
					if blocks {
						bad.block = make(chan struct{})
					}
					h := newHostile(t, runtime.WithSealer(bad), runtime.WithFingerprintSecret([]byte("0123456789abcdef")))
					serve := h.serve(shape, policy(), func(context.Context) error { return nil })
					start := time.Now()
					first := do(serve, request("k", ""))
					h.wantNothingOpen()
					if time.Since(start) > 2*time.Second {
						t.Errorf("the answer took %v", time.Since(start))
					}
					want := 201
					if shape == "twice" || shape == "once" {
						want = 503
					}
					if first.Code != want {
						t.Errorf("first %d %s", first.Code, first.Body)
					}
					before := goruntime.NumGoroutine()
					time.Sleep(10 * time.Minute)
					if after := goruntime.NumGoroutine(); after > before+1 {
						t.Errorf("%d goroutines became %d", before, after)
					}
					if blocks {
						close(bad.block)
						h.close()
						if want == 201 {
							wantReplay(t, first, do(serve, request("k", "")))
						}
						return
					}
					ctx, cancel := context.WithCancel(context.Background())
					cancel()
					for _, end := range h.closes {
						end(ctx)
					}
					synctest.Wait()
				})
			})
		}
	}
}

// A renderer that blocks holds up no transaction for longer than a ledger may.
func TestHostileRenderers(t *testing.T) {
	for _, blocks := range []bool{false, true} {
		for _, shape := range hostileShapes {
			synctest.Test(t, func(t *testing.T) {
				var block chan struct{}
				if blocks {
					block = make(chan struct{})
				}
				h := newHostile(t, runtime.WithProblemRenderer(func(context.Context, runtime.Problem) (string, []byte) {
					if block == nil {
						panic("hostile")
					}
					<-block
					return "", nil
				}))
				p := policy()
				p.Failure = runtime.FailureStore
				serve := h.serve(shape, p, func(context.Context) error { return errors.New("failed") })
				first := do(serve, request("k", ""))
				h.wantNothingOpen()
				wantCode(t, first, 500, runtime.CodeInternal)
				wantReplay(t, first, do(serve, request("k", "")))
				if blocks {
					close(block)
				}
				h.close()
			})
		}
	}
}

// What runs before the claim leaves nothing when it panics: net/http ends the
// connection, and the next request is as the first.
func TestPanicsBeforeTheClaim(t *testing.T) {
	bad := func() { panic("hostile") }
	var at string
	fails := func(place string) {
		if at == place {
			bad()
		}
	}
	for _, place := range []string{"principal", "authorize", "decode", "validate", "fingerprint"} {
		for _, shape := range []string{"claim", "twice", "once"} {
			l := &counted{onceLedger: &onceLedger{txLedger: &txLedger{faulty: &faulty{Ledger: memory.New()}}}}
			server, err := runtime.NewServer(l, func(*http.Request) (string, error) { fails("principal"); return "alice", nil }, quiet,
				runtime.WithAuthorize(func(*http.Request, string, string) error { fails("authorize"); return nil }))
			if err != nil {
				t.Fatal(err)
			}
			p := policy()
			p.Once = shape == "once"
			decode := func(r *runtime.Request) {
				fails("decode")
				d := r.Decode()
				d.Validate(validator(func() error { fails("validate"); return nil }))
			}
			var serve http.Handler
			if shape == "claim" {
				serve = server.Handle(p, orders, func(r *runtime.Request) (runtime.Work, error) { decode(r); return created, nil })
			} else {
				serve = runtime.HandleTx(server, l, p, orders, func(r *runtime.Request) (runtime.TxWork[*bookTx], error) {
					decode(r)
					return func(ctx context.Context, _ *bookTx) (*runtime.Response, error) { return created(ctx) }, nil
				})
			}
			attempt := func() (code int, panicked bool) {
				defer func() { panicked = recover() != nil }()
				return do(serve, request("k", "")).Code, false
			}
			at = place
			if place != "fingerprint" {
				if _, panicked := attempt(); !panicked {
					t.Errorf("%s/%s: no panic", place, shape)
				}
			}
			at = ""
			if n := l.open.Load(); n != 0 {
				t.Errorf("%s/%s: %d transactions are open", place, shape, n)
			}
			if code, _ := attempt(); code != 201 {
				t.Errorf("%s/%s: then %d", place, shape, code)
			}
			server.Close(context.Background())
		}
	}
}

type validator func() error

func (v validator) Validate() error { return v() }

// Errors of functions that name the caller, check its rights and validate are
// not to be trusted either.
func TestHostileErrorsBeforeTheClaim(t *testing.T) {
	for name, failure := range hostileErrors() {
		for _, place := range []string{"principal", "authorize", "validate"} {
			at := func(here string) error {
				if here == place {
					return failure
				}
				return nil
			}
			server, err := runtime.NewServer(memory.New(), func(*http.Request) (string, error) { return "alice", at("principal") }, quiet,
				runtime.WithAuthorize(func(*http.Request, string, string) error { return at("authorize") }))
			if err != nil {
				t.Fatal(err)
			}
			serve := server.Handle(policy(), orders, func(r *runtime.Request) (runtime.Work, error) {
				d := r.Decode()
				d.Validate(validator(func() error { return at("validate") }))
				return created, d.Err()
			})
			if w := do(serve, request("k", "")); w.Code < 400 || w.Code == 404 {
				t.Errorf("%s/%s: %d %s", name, place, w.Code, w.Body)
			}
			server.Close(context.Background())
		}
	}
}

// A ledger that panics in the background does not end the process.
func TestLedgerPanicsInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		calls := 0
		g.ledger.complete = func(ctx context.Context, c runtime.Completion) (bool, error) {
			switch calls++; calls {
			case 1:
				return false, runtime.ErrUnavailable
			case 2:
				panic("hostile")
			}
			return g.ledger.Ledger.Complete(ctx, c)
		}
		g.ledger.sweep = func(context.Context, int) (int, error) { panic("hostile") }
		g.ledger.renew = func(context.Context, runtime.Fence, runtime.Terms) (runtime.Claimed, bool, error) { panic("hostile") }
		p := policy()
		p.Renew = true
		h := g.typed(p, func(ctx context.Context) (*runtime.Response, error) {
			time.Sleep(p.Lease / 2)
			return created(ctx)
		})
		first := do(h, request("k", ""))
		time.Sleep(time.Minute)
		wantReplay(t, first, do(h, request("k", "")))
	})
}

// A ledger that panics while a transaction is settled leaves it rolled back.
func TestLedgerPanicsWhileItSettles(t *testing.T) {
	for _, shape := range []string{"twice", "once"} {
		synctest.Test(t, func(t *testing.T) {
			h := newHostile(t)
			defer h.close()
			h.ledger.panics = true
			serve := h.serve(shape, policy(), func(context.Context) error { return nil })
			func() {
				defer func() {
					if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "hostile") {
						t.Errorf("%s: %v; want the ledger's panic", shape, p)
					}
				}()
				do(serve, request("k", ""))
			}()
			h.wantNothingOpen()
		})
	}
}

// Handlers past their deadlines are told of one after the other: a logger that
// blocks is waited for by one goroutine, not by one for each of them.
func TestOverdueHandlersOfABlockedLogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := &panicker{block: make(chan struct{}), always: true}
		h := newHostile(t, runtime.WithLogger(slog.New(bad)))
		leave := make(chan struct{})
		serve := h.serve("typed", policy(), func(context.Context) error { <-leave; return nil })
		var ended sync.WaitGroup
		for i := range 20 {
			ended.Go(func() { do(serve, request(fmt.Sprint("k", i), "")) })
		}
		synctest.Wait()
		before := goruntime.NumGoroutine()
		time.Sleep(time.Hour)
		if after := goruntime.NumGoroutine(); after > before+1 {
			t.Errorf("%d goroutines became %d", before, after)
		}
		close(leave)
		ended.Wait()
		close(bad.block)
		h.close()
	})
}
