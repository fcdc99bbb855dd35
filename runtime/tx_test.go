package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// book is a business table; bookTx is a transaction on it.
type book struct{ lines []string }

type bookTx struct {
	ledger    *txLedger
	fence     runtime.Fence
	lines     []string
	completed *runtime.Completion
	ended     bool // behind the ledger's back
}

func (tx *bookTx) add(line string) { tx.lines = append(tx.lines, line) }

// endByHand is what a handler must not do.
func (tx *bookTx) endByHand() {
	tx.ledger.mu.Lock()
	defer tx.ledger.mu.Unlock()
	tx.ledger.book.lines = append(tx.ledger.book.lines, tx.lines...)
	tx.ended = true
}

// txLedger gives transactions over a book, on which tests replace single steps.
type txLedger struct {
	*faulty
	mu         sync.Mutex // of the book
	book       book
	begin      error
	complete   error
	commit     func(tx *bookTx) error
	rollback   error
	rollbacks  int
	lostBefore bool
	healthy    bool // its transactions meet no other
}

func (l *txLedger) Begin(ctx context.Context, f runtime.Fence, _ time.Duration) (runtime.Tx[*bookTx], bool, error) {
	if l.begin != nil {
		return nil, false, l.begin
	}
	if l.lostBefore || !l.holds(ctx, f) {
		return nil, false, nil
	}
	return &bookTx{ledger: l, fence: f}, true, nil
}

func (l *txLedger) holds(ctx context.Context, f runtime.Fence) bool {
	row, found, err := l.Read(ctx, f.ID)
	return err == nil && found && !row.Completed && row.Generation == f.Generation && row.Owner == f.Owner
}

func (tx *bookTx) Handle() *bookTx { return tx }

func (tx *bookTx) Complete(ctx context.Context, c runtime.Completion) (bool, error) {
	if tx.ended {
		return false, runtime.ErrTxEnded
	}
	if tx.ledger.complete != nil {
		return false, tx.ledger.complete
	}
	if !tx.ledger.holds(ctx, tx.fence) {
		return false, nil
	}
	tx.completed = &c
	return true, nil
}

func (tx *bookTx) Commit(context.Context) error {
	if tx.ledger.commit != nil {
		return tx.ledger.commit(tx)
	}
	return tx.apply()
}

// apply is the commit of what there is: as in a database, a completion that met
// no row does not keep the lines from it.
func (tx *bookTx) apply() error {
	if tx.completed != nil {
		if ok, err := tx.ledger.Complete(context.Background(), *tx.completed); !ok || err != nil {
			return errors.New("the fence did not hold at commit")
		}
	}
	tx.ledger.mu.Lock()
	defer tx.ledger.mu.Unlock()
	tx.ledger.book.lines = append(tx.ledger.book.lines, tx.lines...)
	return nil
}

func (tx *bookTx) Rollback(context.Context) error {
	tx.ledger.rollbacks++
	if tx.ended {
		return runtime.ErrTxEnded
	}
	return tx.ledger.rollback
}

func txPolicy() runtime.Policy {
	p := policy()
	p.Failure = runtime.FailureRelease
	return p
}

// transacted serves work that books "line" and then does what fn does.
func (g *rig) transacted(l *txLedger, p runtime.Policy, fn func(context.Context, *bookTx) (*runtime.Response, error)) http.Handler {
	g.t.Helper()
	l.faulty = g.ledger
	h := runtime.HandleTx(g.server, l, p, orders, func(*runtime.Request) (runtime.TxWork[*bookTx], error) {
		return func(ctx context.Context, tx *bookTx) (*runtime.Response, error) {
			g.runs++
			tx.add("line")
			return fn(ctx, tx)
		}, nil
	})
	if err := g.server.Err(); err != nil {
		g.t.Fatal(err)
	}
	return h
}

func bookOne(ctx context.Context, _ *bookTx) (*runtime.Response, error) { return created(ctx) }

func wantBook(t *testing.T, l *txLedger, lines ...string) {
	t.Helper()
	if !slices.Equal(l.book.lines, lines) {
		t.Errorf("the book holds %q, want %q", l.book.lines, lines)
	}
}

func TestTxCommitsEffectAndAnswer(t *testing.T) {
	g, l := newRig(t), &txLedger{}
	h := g.transacted(l, txPolicy(), bookOne)
	first := do(h, request("k", ""))
	wantReplay(t, first, do(h, request("k", "")))
	wantBook(t, l, "line")
}

func TestTxErrorRollsBack(t *testing.T) {
	for failure, retry := range map[runtime.Failure]string{runtime.FailureRelease: "run", runtime.FailureStore: "replay"} {
		g, l := newRig(t), &txLedger{}
		p := txPolicy()
		p.Failure = failure
		h := g.transacted(l, p, func(context.Context, *bookTx) (*runtime.Response, error) { return nil, errors.New("constraint") })
		first := do(h, request("k", ""))
		wantCode(t, first, 500, "internal_error")
		again := do(h, request("k", ""))
		if ran := g.runs == 2; ran != (retry == "run") {
			t.Errorf("%s: %d runs", failure, g.runs)
		}
		if retry == "replay" {
			wantReplay(t, first, again)
		}
		wantBook(t, l)
	}
}

// A result that is an error with a status below 500 is final, and its effects
// are rolled back as those of every error.
func TestTxRefusalIsStoredWithoutEffect(t *testing.T) {
	g, l := newRig(t), &txLedger{}
	h := g.transacted(l, txPolicy(), func(context.Context, *bookTx) (*runtime.Response, error) {
		return nil, &runtime.Error{Status: 409, Code: "shipped", Message: "The order has been shipped."}
	})
	first := do(h, request("k", ""))
	wantCode(t, first, 409, "shipped")
	wantReplay(t, first, do(h, request("k", "")))
	wantBook(t, l)
}

func TestTxPanicRollsBack(t *testing.T) {
	g, l := newRig(t), &txLedger{}
	h := g.transacted(l, txPolicy(), func(context.Context, *bookTx) (*runtime.Response, error) { panic("boom") })
	wantCode(t, do(h, request("k", "")), 500, "internal_error")
	wantBook(t, l)
	if do(h, request("k", "")); g.runs != 2 {
		t.Errorf("%d runs", g.runs)
	}
}

func TestTxReleaseAskedRollsBack(t *testing.T) {
	g, l := newRig(t), &txLedger{}
	h := g.transacted(l, txPolicy(), func(ctx context.Context, _ *bookTx) (*runtime.Response, error) {
		runtime.ReleaseClaim(ctx)
		return created(ctx)
	})
	do(h, request("k", ""))
	wantBook(t, l)
	if do(h, request("k", "")); g.runs != 2 {
		t.Errorf("%d runs", g.runs)
	}
}

func TestTxAnswerTooLargeRollsBack(t *testing.T) {
	g, l := newRig(t), &txLedger{}
	h := g.transacted(l, txPolicy(), func(context.Context, *bookTx) (*runtime.Response, error) {
		return &runtime.Response{Body: make([]byte, 1<<20)}, nil
	})
	first := do(h, request("k", ""))
	wantCode(t, first, 500, "idempotency_response_too_large")
	wantReplay(t, first, do(h, request("k", "")))
	wantBook(t, l)
}

// A slow owner that was taken over loses its effects, and its caller gets the
// winner's bytes.
func TestTxFencedOutRollsBack(t *testing.T) {
	g, slow, quick := newRig(t), &txLedger{}, &txLedger{}
	entered, leave := make(chan struct{}), make(chan struct{})
	slowly := g.transacted(slow, txPolicy(), func(ctx context.Context, _ *bookTx) (*runtime.Response, error) {
		close(entered)
		<-leave
		return created(ctx)
	})
	answers := make(chan *httptest.ResponseRecorder)
	go func() { answers <- do(slowly, request("k", "")) }()
	<-entered
	g.clock.move(txPolicy().Lease)
	second := do(g.transacted(quick, txPolicy(), func(context.Context, *bookTx) (*runtime.Response, error) {
		return &runtime.Response{Body: []byte("winner")}, nil
	}), request("k", ""))
	close(leave)
	wantReplay(t, second, <-answers)
	wantBook(t, slow)
	wantBook(t, quick, "line")
}

func TestTxClaimLostBeforeTheWork(t *testing.T) {
	g, l := newRig(t), &txLedger{lostBefore: true}
	h := g.transacted(l, txPolicy(), bookOne)
	wantCode(t, do(h, request("k", "")), 409, "idempotency_key_in_progress")
	if g.runs != 0 {
		t.Errorf("%d runs", g.runs)
	}
}

func TestTxThatDoesNotBeginGivesTheKeyBack(t *testing.T) {
	g, l := newRig(t), &txLedger{begin: runtime.ErrUnavailable}
	h := g.transacted(l, txPolicy(), bookOne)
	wantCode(t, do(h, request("k", "")), 503, "idempotency_ledger_unavailable")
	l.begin = nil
	if w := do(h, request("k", "")); w.Code != 201 {
		t.Errorf("afterwards %d %s", w.Code, w.Body)
	}
}

// After a transaction that ended behind our back nothing runs again under the
// key, whatever the handler says of it.
func TestTxEndedBehindOurBack(t *testing.T) {
	for name, result := range map[string]error{"then success": nil, "then failure": errors.New("x")} {
		t.Run(name, func(t *testing.T) {
			g, l := newRig(t), &txLedger{}
			h := g.transacted(l, txPolicy(), func(ctx context.Context, tx *bookTx) (*runtime.Response, error) {
				tx.endByHand()
				if result != nil {
					return nil, result
				}
				return created(ctx)
			})
			first := do(h, request("k", ""))
			wantCode(t, first, 500, "idempotency_outcome_unknown")
			wantReplay(t, first, do(h, request("k", "")))
			wantBook(t, l, "line")
			if !strings.Contains(g.log.String(), "behind the ledger's back") {
				t.Errorf("log: %s", g.log)
			}
		})
	}
}

func TestTxCommitWithUnknownOutcome(t *testing.T) {
	lost := errors.New("connection reset")
	t.Run("committed", func(t *testing.T) {
		g, l := newRig(t), &txLedger{commit: func(tx *bookTx) error { return errors.Join(tx.apply(), lost) }}
		h := g.transacted(l, txPolicy(), bookOne)
		first := do(h, request("k", ""))
		if first.Code != 201 {
			t.Errorf("got %d %s", first.Code, first.Body)
		}
		wantReplay(t, first, do(h, request("k", "")))
		wantBook(t, l, "line")
	})
	t.Run("rolled back", func(t *testing.T) {
		g, l := newRig(t), &txLedger{commit: func(*bookTx) error { return lost }}
		h := g.transacted(l, txPolicy(), bookOne)
		wantCode(t, do(h, request("k", "")), 503, "idempotency_ledger_unavailable")
		l.commit = nil
		if w := do(h, request("k", "")); w.Code != 201 || g.runs != 2 {
			t.Errorf("afterwards %d, %d runs", w.Code, g.runs)
		}
		wantBook(t, l, "line")
	})
	t.Run("undecided", func(t *testing.T) {
		g, l := newRig(t), &txLedger{commit: func(tx *bookTx) error { return errors.Join(tx.apply(), lost) }}
		h := g.transacted(l, txPolicy(), bookOne)
		g.ledger.release = func(context.Context, runtime.Fence) (bool, error) { return false, runtime.ErrUnavailable }
		wantCode(t, do(h, request("k", "")), 503, "idempotency_outcome_unknown")
		g.ledger.release = nil
		if w := do(h, request("k", "")); w.Code != 201 || w.Header().Get("Idempotency-Replayed") != "true" || g.runs != 1 {
			t.Errorf("afterwards %d %s, %d runs", w.Code, w.Header(), g.runs)
		}
	})
}

func TestTxCompletionThatFails(t *testing.T) {
	t.Run("passing", func(t *testing.T) {
		g, l := newRig(t), &txLedger{complete: runtime.ErrUnavailable}
		h := g.transacted(l, txPolicy(), bookOne)
		wantCode(t, do(h, request("k", "")), 503, "idempotency_ledger_unavailable")
		l.complete = nil
		if w := do(h, request("k", "")); w.Code != 201 || g.runs != 2 {
			t.Errorf("afterwards %d, %d runs", w.Code, g.runs)
		}
		wantBook(t, l, "line")
	})
	t.Run("refused", func(t *testing.T) {
		g, l := newRig(t), &txLedger{complete: fmt.Errorf("%w: packet too large", runtime.ErrRefused)}
		h := g.transacted(l, txPolicy(), bookOne)
		first := do(h, request("k", ""))
		wantCode(t, first, 500, "idempotency_response_too_large")
		l.complete = nil
		wantReplay(t, first, do(h, request("k", "")))
		wantBook(t, l)
	})
}

// A handler that passes over the failure of one of its statements has failed.
func TestTxWithAFailedStatement(t *testing.T) {
	g, l := newRig(t), &txLedger{complete: runtime.ErrTxFailed}
	h := g.transacted(l, txPolicy(), bookOne)
	wantCode(t, do(h, request("k", "")), 500, "internal_error")
	wantBook(t, l)
	if do(h, request("k", "")); g.runs != 2 {
		t.Errorf("%d runs", g.runs)
	}
}

// An error beside an answer of success is an error: the effect is rolled back,
// and the success must not be replayed.
func TestTxErrorBesideASuccess(t *testing.T) {
	g, l := newRig(t), &txLedger{}
	l.faulty = g.ledger
	engine, err := runtime.NewEngine(l, quiet)
	if err != nil {
		t.Fatal(err)
	}
	p := txPolicy()
	p.Failure = runtime.FailureStore
	guard, err := engine.Guard(p)
	if err != nil {
		t.Fatal(err)
	}
	call := runtime.Call{Principal: "alice", Key: "k", Fingerprint: func(runtime.Rule) [32]byte { return [32]byte{} }}
	for range 2 {
		result, err := runtime.DoTx(t.Context(), guard, l, call, func(_ context.Context, tx *bookTx) (runtime.Answer, error) {
			tx.add("line")
			return runtime.Answer{Status: 201}, errors.New("constraint")
		})
		if err != nil || result.Answer.Status != 500 {
			t.Errorf("%+v, %v", result, err)
		}
	}
	wantBook(t, l)
}

func TestTxNeedsAKey(t *testing.T) {
	g := newRig(t)
	p := txPolicy()
	p.KeyOptional = true
	runtime.HandleTx(g.server, &txLedger{faulty: g.ledger}, p, orders, func(*runtime.Request) (runtime.TxWork[*bookTx], error) { return bookOne, nil })
	if err := g.server.Err(); err == nil || !strings.Contains(err.Error(), "needs a key") {
		t.Errorf("got %v", err)
	}
}

var errDeadlock = errors.New("deadlock")

// Conflict implements runtime.ConflictTeller.
func (tx *bookTx) Conflict(_ context.Context, err error) bool {
	return errors.Is(err, errDeadlock) && !tx.ledger.healthy
}

// Work that the database rolled back for the sake of another is released and
// its caller invited to retry, unless the work said what it wants, or our own
// rollback failed.
func TestTxConflictInvitesARetry(t *testing.T) {
	for name, c := range map[string]struct {
		err      error
		rollback error
		status   int
		again    bool
	}{
		"conflict":             {errors.Join(errDeadlock), nil, 503, true},
		"conflict, held":       {runtime.Hold(errDeadlock), nil, 500, false},
		"conflict, classified": {&runtime.Error{Status: 409, Code: "taken", Cause: errDeadlock}, nil, 409, false},
		"conflict, rollback":   {errDeadlock, errors.New("gone"), 500, false},
		"another error":        {errors.New("constraint"), nil, 500, false},
	} {
		t.Run(name, func(t *testing.T) {
			g, l := newRig(t), &txLedger{rollback: c.rollback}
			l.faulty = g.ledger
			p := txPolicy()
			p.Failure = runtime.FailureStore
			h := runtime.HandleTx(g.server, l, p, orders, func(*runtime.Request) (runtime.TxWork[*bookTx], error) {
				return func(ctx context.Context, tx *bookTx) (*runtime.Response, error) {
					if g.runs++; g.runs == 1 {
						return nil, c.err
					}
					return created(ctx)
				}, nil
			})
			if err := g.server.Err(); err != nil {
				t.Fatal(err)
			}
			first := do(h, request("k", ""))
			if first.Code != c.status {
				t.Errorf("the first answer is %d %s; want %d", first.Code, first.Body, c.status)
			}
			if retry := first.Header().Get("Retry-After"); (retry != "") != c.again {
				t.Errorf("Retry-After is %q", retry)
			}
			do(h, request("k", ""))
			if again := g.runs == 2; again != c.again {
				t.Errorf("the work ran %d times", g.runs)
			}
		})
	}
}

// An error of the kind that another database gave, or a network, is the work's
// own: it is stored under store, and the work runs once.
func TestTxErrorOfSomebodyElseIsNoConflict(t *testing.T) {
	for name, err := range map[string]error{
		"deadlock elsewhere": errDeadlock, "EOF": io.EOF, "wrapped": fmt.Errorf("charge: %w", io.ErrUnexpectedEOF),
		"network": &net.OpError{Op: "read", Net: "tcp", Err: errors.New("reset")}, "conflict by name": runtime.ErrTxConflict,
	} {
		for _, once := range []bool{false, true} {
			g := newRig(t)
			p := txPolicy()
			p.Failure, p.Retry, p.Once = runtime.FailureStore, 2, once
			l := &onceLedger{}
			h := g.once(l, p, func(context.Context, *bookTx) (*runtime.Response, error) { return nil, err })
			l.healthy = true
			first := do(h, request("k", ""))
			wantCode(t, first, 500, "internal_error")
			wantReplay(t, first, do(h, request("k", "")))
			if g.runs != 1 {
				t.Errorf("%s, once=%v: %d runs", name, once, g.runs)
			}
		}
	}
}

// A COMMIT that failed after another had taken the key over is answered with
// what that one stored.
func TestTxCommitLostToAnother(t *testing.T) {
	g, l := newRig(t), &txLedger{}
	l.commit = func(tx *bookTx) error {
		g.clock.move(txPolicy().Lease)
		rival := runtime.Claim{ID: tx.fence.ID, Owner: runtime.Owner{1}, Terms: runtime.Terms{Lease: time.Hour, Retain: 2 * time.Hour}}
		claimed, won, err := l.TakeOver(t.Context(), tx.fence, rival)
		if !won || err != nil {
			t.Fatal(won, err)
		}
		stands, err := l.Complete(t.Context(), runtime.Completion{
			Fence: runtime.Fence{ID: rival.ID, Owner: rival.Owner, Generation: claimed.Generation}, Terms: rival.Terms,
			Answer: runtime.StoredAnswer{Status: 200, Body: []byte("rival")},
		})
		if !stands || err != nil {
			t.Fatal(stands, err)
		}
		return errors.New("connection reset")
	}
	w := do(g.transacted(l, txPolicy(), bookOne), request("k", ""))
	if w.Code != 200 || w.Body.String() != "rival" || w.Header().Get("Idempotency-Replayed") != "true" {
		t.Errorf("got %d %s %s", w.Code, w.Header(), w.Body)
	}
	wantBook(t, l)
}

// conflicting serves work that meets another transaction each time.
func (g *rig) conflicting(l *txLedger, p runtime.Policy, fn func()) http.Handler {
	l.faulty = g.ledger
	return runtime.HandleTx(g.server, l, p, orders, func(*runtime.Request) (runtime.TxWork[*bookTx], error) {
		return func(context.Context, *bookTx) (*runtime.Response, error) {
			g.runs++
			fn()
			return nil, errDeadlock
		}, nil
	})
}

// Work does not run again in a transaction that the database has given up.
func TestRetryRollsBackFirst(t *testing.T) {
	g, l := newRig(t), &txLedger{}
	p := txPolicy()
	p.Retry = 2
	h := g.conflicting(l, p, func() {
		if l.rollbacks != g.runs-1 {
			t.Errorf("run %d begins after %d rollbacks", g.runs, l.rollbacks)
		}
	})
	wantCode(t, do(h, request("k", "")), 503, "idempotency_ledger_unavailable")
	if g.runs != 3 || l.rollbacks != 3 {
		t.Errorf("%d runs, %d rollbacks", g.runs, l.rollbacks)
	}
}

// Nor when its time is up: the lease may be over before it ends.
func TestRetryEndsWithTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, l := newRig(t), &txLedger{}
		p := txPolicy()
		p.Retry = 5
		h := g.conflicting(l, p, func() { time.Sleep(p.Timeout * 2 / 3) })
		wantCode(t, do(h, request("k", "")), 503, "idempotency_ledger_unavailable")
		if g.runs != 2 {
			t.Errorf("%d runs of two thirds of the timeout each; want 2", g.runs)
		}
	})
}

// An answer that says to try again takes its effect back, whatever the policy.
func TestTxTakesInvitationsBack(t *testing.T) {
	for _, failure := range []runtime.Failure{runtime.FailureStore, runtime.FailureRelease} {
		for name, answer := range map[string]func(context.Context, *bookTx) (*runtime.Response, error){
			"a response": func(context.Context, *bookTx) (*runtime.Response, error) {
				return &runtime.Response{Status: 429, Header: http.Header{"Retry-After": {"7"}}}, nil
			},
			"an error": func(context.Context, *bookTx) (*runtime.Response, error) {
				return nil, &runtime.Error{Status: 429, Code: "slow_down", RetryAfter: 7 * time.Second}
			},
		} {
			t.Run(string(failure)+"/"+name, func(t *testing.T) {
				g, l, once, p := newRig(t), &txLedger{}, &onceLedger{}, txPolicy()
				p.Failure = failure
				apart := g.transacted(l, p, answer)
				p.Once = true
				for key, h := range map[string]http.Handler{"k": apart, "l": g.once(once, p, answer)} {
					g.runs = 0
					for runs := 1; runs <= 2; runs++ {
						w := do(h, request(key, ""))
						if w.Code != 429 || w.Header().Get("Retry-After") != "7" || g.runs != runs {
							t.Errorf("%d %s, %d runs", w.Code, w.Header(), g.runs)
						}
					}
				}
				wantBook(t, l)
				wantBook(t, once.txLedger)
			})
		}
	}
}
