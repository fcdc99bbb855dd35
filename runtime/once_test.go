package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// onceLedger gives transactions over a book that carry their claims, as a
// database does: nobody sees the row before the commit, and nobody else claims
// its key meanwhile.
type onceLedger struct {
	*txLedger
	mu     sync.Mutex
	begun  int
	locked map[runtime.ID]bool
	undo   error
	cannot bool
}

type onceTx struct {
	bookTx
	once   *onceLedger
	claim  runtime.Claim
	undone bool
	spent  bool
}

func (l *onceLedger) CanOnce() bool { return !l.cannot }

func (l *onceLedger) BeginOnce(ctx context.Context, c runtime.Claim) (runtime.OnceTx[*bookTx], runtime.Claimed, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun++
	if l.begin != nil {
		return nil, runtime.Claimed{}, false, l.begin
	}
	if l.locked[c.ID] {
		return nil, runtime.Claimed{}, false, runtime.ErrRowLocked
	}
	if _, found, err := l.Read(ctx, c.ID); found || err != nil {
		return nil, runtime.Claimed{}, false, err
	}
	if l.locked == nil {
		l.locked = map[runtime.ID]bool{}
	}
	l.locked[c.ID] = true
	tx := &onceTx{once: l, claim: c, bookTx: bookTx{ledger: l.txLedger, fence: runtime.Fence{ID: c.ID, Generation: 1, Owner: c.Owner}}}
	now := time.Now().UnixMilli()
	return tx, runtime.Claimed{Generation: 1, ClaimedAt: now, LeaseUntil: now + c.Lease.Milliseconds(), Now: now}, true, nil
}

func (tx *onceTx) free() {
	tx.once.mu.Lock()
	defer tx.once.mu.Unlock()
	delete(tx.once.locked, tx.claim.ID)
}

func (tx *onceTx) Handle() *bookTx { return &tx.bookTx }

func (tx *onceTx) Complete(_ context.Context, c runtime.Completion) (bool, error) {
	if tx.ended {
		return false, runtime.ErrTxEnded
	}
	// The savepoint is released before the completion is tried, unless a
	// statement has failed already.
	tx.spent = !errors.Is(tx.ledger.complete, runtime.ErrTxFailed)
	if tx.ledger.complete != nil && !tx.undone {
		return false, tx.ledger.complete
	}
	tx.completed = &c
	return c.Fence == tx.fence, nil
}

func (tx *onceTx) Undo(context.Context) error {
	if tx.ended || tx.spent {
		return runtime.ErrTxEnded
	}
	tx.lines, tx.undone = nil, true
	return tx.once.undo
}

func (tx *onceTx) Commit(context.Context) error {
	defer tx.free()
	if tx.ledger.commit != nil {
		return tx.ledger.commit(&tx.bookTx)
	}
	return tx.apply()
}

// apply is the commit.
func (tx *onceTx) apply() error {
	if _, won, err := tx.ledger.Insert(context.Background(), tx.claim); !won || err != nil {
		return errors.New("a row held the key at commit")
	}
	if tx.completed != nil {
		return tx.bookTx.apply()
	}
	return nil
}

func (tx *onceTx) Rollback(context.Context) error {
	defer tx.free()
	if tx.ended {
		return runtime.ErrTxEnded
	}
	return tx.ledger.rollback
}

func oncePolicy() runtime.Policy {
	p := txPolicy()
	p.Once = true
	return p
}

// once serves work that books "line" and then does what fn does.
func (g *rig) once(l *onceLedger, p runtime.Policy, fn func(context.Context, *bookTx) (*runtime.Response, error)) http.Handler {
	g.t.Helper()
	l.txLedger = &txLedger{faulty: g.ledger}
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

func (g *rig) wantRow(l *onceLedger, found bool) {
	g.t.Helper()
	_, is, err := l.Read(context.Background(), runtime.ID{Principal: "alice", Key: "k"})
	if err != nil || is != found {
		g.t.Errorf("the row is there: %v, %v; want %v", is, err, found)
	}
}

func TestOnceCommitsClaimEffectAndAnswer(t *testing.T) {
	g, l := newRig(t), &onceLedger{}
	h := g.once(l, oncePolicy(), func(ctx context.Context, _ *bookTx) (*runtime.Response, error) {
		g.wantRow(l, false)
		return created(ctx)
	})
	first := do(h, request("k", ""))
	wantReplay(t, first, do(h, request("k", "")))
	wantBook(t, l.txLedger, "line")
	wantCode(t, do(h, request("k", "another body")), 422, "idempotency_key_reused")
	if l.begun != 1 {
		t.Errorf("%d transactions were begun for one run and its retries", l.begun)
	}
}

func TestOnceFailures(t *testing.T) {
	constraint := errors.New("constraint")
	for name, c := range map[string]struct {
		failure runtime.Failure
		end     func(context.Context) (*runtime.Response, error)
		first   int
		again   string // "run", "replay" or "held"
	}{
		"error, release": {runtime.FailureRelease, func(context.Context) (*runtime.Response, error) { return nil, constraint }, 500, "run"},
		"error, store":   {runtime.FailureStore, func(context.Context) (*runtime.Response, error) { return nil, constraint }, 500, "replay"},
		"error, hold":    {runtime.FailureHold, func(context.Context) (*runtime.Response, error) { return nil, constraint }, 500, "held"},
		"panic, release": {runtime.FailureRelease, func(context.Context) (*runtime.Response, error) { panic("boom") }, 500, "run"},
		"panic, store":   {runtime.FailureStore, func(context.Context) (*runtime.Response, error) { panic("boom") }, 500, "replay"},
		"a refusal is kept": {runtime.FailureRelease, func(context.Context) (*runtime.Response, error) {
			return nil, &runtime.Error{Status: 409, Code: "shipped"}
		}, 409, "replay"},
		"release asked": {runtime.FailureStore, func(ctx context.Context) (*runtime.Response, error) {
			runtime.ReleaseClaim(ctx)
			return created(ctx)
		}, 201, "run"},
		"hold asked": {runtime.FailureStore, func(ctx context.Context) (*runtime.Response, error) {
			runtime.HoldClaim(ctx)
			return created(ctx)
		}, 201, "held"},
		"too large": {runtime.FailureRelease, func(context.Context) (*runtime.Response, error) {
			return &runtime.Response{Body: make([]byte, 1<<20)}, nil
		}, 500, "replay"},
	} {
		t.Run(name, func(t *testing.T) {
			g, l := newRig(t), &onceLedger{}
			p := oncePolicy()
			p.Failure = c.failure
			h := g.once(l, p, func(ctx context.Context, _ *bookTx) (*runtime.Response, error) { return c.end(ctx) })
			first := do(h, request("k", ""))
			if first.Code != c.first {
				t.Errorf("got %d %s", first.Code, first.Body)
			}
			g.wantRow(l, c.again != "run")
			again := do(h, request("k", ""))
			switch c.again {
			case "run":
				if g.runs != 2 {
					t.Errorf("%d runs", g.runs)
				}
			case "replay":
				wantReplay(t, first, again)
			case "held":
				wantCode(t, again, 409, "idempotency_key_in_progress")
			}
			wantBook(t, l.txLedger)
			if len(l.locked) > 0 {
				t.Error("a transaction was left open")
			}
		})
	}
}

// A row that a held claim left behind is taken over in a transaction of its
// own, as without Once.
func TestOnceTakesOver(t *testing.T) {
	g, l := newRig(t), &onceLedger{}
	p := oncePolicy()
	p.Failure = runtime.FailureHold
	fail := true
	h := g.once(l, p, func(ctx context.Context, _ *bookTx) (*runtime.Response, error) {
		if fail {
			return nil, errors.New("x")
		}
		return created(ctx)
	})
	do(h, request("k", ""))
	g.clock.move(p.Lease)
	fail = false
	first := do(h, request("k", ""))
	if first.Code != 201 || g.runs != 2 {
		t.Errorf("got %d %s, %d runs", first.Code, first.Body, g.runs)
	}
	wantReplay(t, first, do(h, request("k", "")))
	wantBook(t, l.txLedger, "line")
}

func TestOnceEndedBehindOurBack(t *testing.T) {
	for name, result := range map[string]error{"then success": nil, "then failure": errors.New("x")} {
		for end, commits := range map[string]bool{"commit": true, "rollback": false} {
			for _, failure := range []runtime.Failure{runtime.FailureRelease, runtime.FailureStore} {
				t.Run(end+", "+name+", "+string(failure), func(t *testing.T) {
					g, l := newRig(t), &onceLedger{}
					p := oncePolicy()
					p.Failure = failure
					h := g.once(l, p, func(ctx context.Context, tx *bookTx) (*runtime.Response, error) {
						if tx.ended = true; commits {
							tx.endByHand()
							// The claim was part of it.
							c := runtime.Claim{ID: tx.fence.ID, Owner: tx.fence.Owner, Terms: runtime.Terms{Lease: p.Lease, Retain: p.Retain}}
							if _, won, err := l.Insert(ctx, c); !won || err != nil {
								t.Fatal(won, err)
							}
						}
						if result != nil {
							return nil, result
						}
						return created(ctx)
					})
					first := do(h, request("k", ""))
					wantCode(t, first, 500, "idempotency_outcome_unknown")
					if again := do(h, request("k", "")); !commits {
						wantReplay(t, first, again)
					}
					if g.runs != 1 {
						t.Errorf("%d runs", g.runs)
					}
				})
			}
		}
	}
}

func TestOnceCommitWithUnknownOutcome(t *testing.T) {
	lost := errors.New("connection reset")
	t.Run("committed", func(t *testing.T) {
		g, l := newRig(t), &onceLedger{}
		h := g.once(l, oncePolicy(), bookOne)
		l.commit = l.committing(lost)
		first := do(h, request("k", ""))
		if first.Code != 201 {
			t.Errorf("got %d %s", first.Code, first.Body)
		}
		wantReplay(t, first, do(h, request("k", "")))
		wantBook(t, l.txLedger, "line")
	})
	t.Run("rolled back", func(t *testing.T) {
		g, l := newRig(t), &onceLedger{}
		h := g.once(l, oncePolicy(), bookOne)
		l.commit = func(*bookTx) error { return lost }
		wantCode(t, do(h, request("k", "")), 503, "idempotency_ledger_unavailable")
		g.wantRow(l, false)
		l.commit = nil
		if w := do(h, request("k", "")); w.Code != 201 || g.runs != 2 {
			t.Errorf("afterwards %d, %d runs", w.Code, g.runs)
		}
		wantBook(t, l.txLedger, "line")
	})
	t.Run("undecided", func(t *testing.T) {
		g, l := newRig(t), &onceLedger{}
		h := g.once(l, oncePolicy(), bookOne)
		apply := l.committing(lost)
		l.commit = func(tx *bookTx) error {
			err := apply(tx)
			g.ledger.insert = func(context.Context, runtime.Claim) (runtime.Claimed, bool, error) {
				return runtime.Claimed{}, false, runtime.ErrUnavailable
			}
			return err
		}
		wantCode(t, do(h, request("k", "")), 503, "idempotency_outcome_unknown")
		g.ledger.insert = nil
		if w := do(h, request("k", "")); w.Code != 201 || w.Header().Get("Idempotency-Replayed") != "true" || g.runs != 1 {
			t.Errorf("afterwards %d %s, %d runs", w.Code, w.Header(), g.runs)
		}
	})
	t.Run("another's row", func(t *testing.T) {
		g, l := newRig(t), &onceLedger{}
		h := g.once(l, oncePolicy(), bookOne)
		l.commit = func(tx *bookTx) error {
			c := runtime.Claim{ID: tx.fence.ID, Owner: runtime.Owner{1}, Terms: runtime.Terms{Lease: time.Hour, Retain: 2 * time.Hour}}
			if _, won, err := l.Insert(t.Context(), c); !won || err != nil {
				t.Fatal(won, err)
			}
			return lost
		}
		if w := do(h, request("k", "")); w.Code != 409 && w.Code != 422 {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
		wantBook(t, l.txLedger)
	})
}

// committing is a commit that stands although it ends in an error.
func (l *onceLedger) committing(err error) func(*bookTx) error {
	return func(tx *bookTx) error {
		c := runtime.Claim{ID: tx.fence.ID, Owner: tx.fence.Owner, Policy: "1 raw content-type", Terms: runtime.Terms{Lease: time.Hour, Retain: 2 * time.Hour}}
		c.Fingerprint = fingerprintOf(request("k", ""))
		if _, won, insertErr := l.Insert(context.Background(), c); !won || insertErr != nil {
			return errors.New("a row held the key at commit")
		}
		return errors.Join(tx.apply(), err)
	}
}

// fingerprintOf is what a request's claim carries under the usual rule.
func fingerprintOf(r *http.Request) [32]byte {
	return runtime.Rule{Body: runtime.BodyRaw, Headers: []string{"content-type"}}.Fingerprint(runtime.FingerprintParts{
		Method: r.Method, URI: r.URL.RequestURI(), Host: r.Host, Header: r.Header,
	})
}

// What cannot be undone in its transaction is made up for outside: the claim
// again, then the answer.
func TestOnceUndoThatFails(t *testing.T) {
	g, l := newRig(t), &onceLedger{undo: runtime.ErrUnavailable}
	p := oncePolicy()
	p.Failure = runtime.FailureStore
	h := g.once(l, p, func(context.Context, *bookTx) (*runtime.Response, error) { return nil, errors.New("constraint") })
	first := do(h, request("k", ""))
	wantCode(t, first, 500, "internal_error")
	wantReplay(t, first, do(h, request("k", "")))
	wantBook(t, l.txLedger)
}

func TestOnceCompletionThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		code string
		runs int
	}{
		"passing":            {runtime.ErrUnavailable, "idempotency_ledger_unavailable", 2},
		"refused":            {fmt.Errorf("%w: packet too large", runtime.ErrRefused), "idempotency_response_too_large", 1},
		"a failed statement": {runtime.ErrTxFailed, "internal_error", 2},
	} {
		t.Run(name, func(t *testing.T) {
			g, l := newRig(t), &onceLedger{}
			h := g.once(l, oncePolicy(), bookOne)
			l.complete = c.err
			if first := do(h, request("k", "")); !strings.Contains(first.Body.String(), c.code) {
				t.Errorf("got %d %s", first.Code, first.Body)
			}
			wantBook(t, l.txLedger)
			l.complete = nil
			if do(h, request("k", "")); g.runs != c.runs {
				t.Errorf("%d runs, want %d", g.runs, c.runs)
			}
		})
	}
}

// Duplicates wait for their owner in its process, before they ask the ledger
// for anything, and get its answer; other keys do not wait.
func TestOnceDuplicatesQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, l := newRig(t), &onceLedger{}
		entered, leave := make(chan struct{}, 1), make(chan struct{})
		slow := true
		h := g.once(l, oncePolicy(), func(ctx context.Context, _ *bookTx) (*runtime.Response, error) {
			if slow {
				entered <- struct{}{}
				<-leave
			}
			return created(ctx)
		})
		answers := make(chan *httptest.ResponseRecorder, 4)
		ask := func() { answers <- do(h, request("k", "")) }
		go ask()
		<-entered
		slow = false
		for range 3 {
			go ask()
		}
		hungUp, hangUp := context.WithCancel(t.Context())
		gone := make(chan *httptest.ResponseRecorder, 1)
		go func() { gone <- do(h, request("k", "").WithContext(hungUp)) }()
		synctest.Wait()
		if l.begun != 1 {
			t.Errorf("%d transactions were begun while the owner ran", l.begun)
		}
		if other := do(h, request("other", "")); other.Code != 201 {
			t.Errorf("another key got %d %s", other.Code, other.Body)
		}
		hangUp()
		wantCode(t, <-gone, 409, "idempotency_key_in_progress")
		close(leave)
		replayed := 0
		for range 4 {
			a := <-answers
			if a.Code != 201 {
				t.Errorf("got %d %s", a.Code, a.Body)
			}
			if a.Header().Get("Idempotency-Replayed") == "true" {
				replayed++
			}
		}
		if replayed != 3 || g.runs != 2 {
			t.Errorf("%d replays, %d runs", replayed, g.runs)
		}
	})
}

// A crowd of duplicates is refused for itself: another caller's fresh key, the
// caller's own other keys, and a crowd of honest requests all run.
func TestOnceQueueIsEachCallersOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, l := newRig(t), &onceLedger{}
		var mu sync.Mutex
		leave := make(chan struct{})
		l.txLedger = &txLedger{faulty: g.ledger}
		h := runtime.HandleTx(g.server, l, oncePolicy(), orders, func(*runtime.Request) (runtime.TxWork[*bookTx], error) {
			return func(ctx context.Context, _ *bookTx) (*runtime.Response, error) {
				mu.Lock()
				g.runs++
				mu.Unlock()
				if runtime.Key(ctx) != "fresh" {
					<-leave
				}
				return created(ctx)
			}, nil
		})
		ask := func(caller, key string) *httptest.ResponseRecorder {
			r := request(key, "")
			r.Header.Set("Authorization", "Bearer "+caller)
			return do(h, r)
		}
		const crowd = 5_100 // of either kind
		var ended sync.WaitGroup
		codes := make([]int, crowd)
		for i := range crowd {
			ended.Go(func() { codes[i] = ask("alice", "k").Code })
		}
		synctest.Wait()
		// Not a duplicate of anything.
		for _, caller := range []string{"bob", "alice"} {
			if w := ask(caller, "fresh"); w.Code != 201 {
				t.Errorf("%s's fresh key: %d %s", caller, w.Code, w.Body)
			}
		}
		// A duplicate too many is told what it is.
		wantCode(t, ask("alice", "k"), 409, runtime.CodeKeyInProgress)
		// Another caller's duplicates wait as if alice had none.
		duplicates := make(chan int, 2)
		for range 2 {
			go func() { duplicates <- ask("bob", "k").Code }()
		}
		honest := make([]int, crowd)
		for i := range crowd {
			ended.Go(func() { honest[i] = ask("carol", fmt.Sprint("honest ", i)).Code })
		}
		synctest.Wait()
		if w := ask("dave", "fresh"); w.Code != 201 {
			t.Errorf("a fresh key beside %d requests: %d %s", crowd, w.Code, w.Body)
		}
		close(leave)
		ended.Wait()
		refused := 0
		for i := range crowd {
			if honest[i] != 201 {
				t.Fatalf("an honest request got %d", honest[i])
			}
			if codes[i] == 409 {
				refused++
			} else if codes[i] != 201 {
				t.Fatalf("a duplicate got %d", codes[i])
			}
		}
		if refused != crowd-1001 {
			t.Errorf("%d of %d duplicates were refused; want all but the owner and 1000", refused, crowd)
		}
		if a, b := <-duplicates, <-duplicates; a != 201 || b != 201 {
			t.Errorf("bob's duplicates got %d and %d", a, b)
		}
	})
}

// A duplicate does not wait for longer than a lease.
func TestOnceQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, l := newRig(t), &onceLedger{}
		leave := make(chan struct{})
		h := g.once(l, oncePolicy(), func(ctx context.Context, _ *bookTx) (*runtime.Response, error) {
			<-leave
			return created(ctx)
		})
		done := make(chan *httptest.ResponseRecorder, 1)
		go func() { done <- do(h, request("k", "")) }()
		synctest.Wait()
		start := time.Now()
		wantCode(t, do(h, request("k", "")), 409, "idempotency_key_in_progress")
		if waited := time.Since(start); waited != oncePolicy().Lease {
			t.Errorf("waited %v", waited)
		}
		close(leave)
		<-done
	})
}

func TestOnceLockedElsewhere(t *testing.T) {
	g, l := newRig(t), &onceLedger{locked: map[runtime.ID]bool{{Principal: "alice", Key: "k"}: true}}
	h := g.once(l, oncePolicy(), bookOne)
	wantCode(t, do(h, request("k", "")), 409, "idempotency_key_in_progress")
	clear(l.locked)
	if w := do(h, request("k", "")); w.Code != 201 || g.runs != 1 {
		t.Errorf("afterwards %d, %d runs", w.Code, g.runs)
	}
}

// Work that met another transaction runs again as often as its policy says,
// in both commit modes, whether it met it at a statement or at the commit.
func TestRetryAfterConflicts(t *testing.T) {
	for _, once := range []bool{false, true} {
		for _, at := range []string{"statement", "commit"} {
			for _, c := range []struct{ conflicts, retry, runs, status int }{
				{1, 1, 2, 201}, {2, 2, 3, 201}, {2, 1, 2, 503}, {1, 0, 1, 503},
			} {
				g, l := newRig(t), &onceLedger{}
				p := txPolicy()
				p.Once, p.Retry = once, c.retry
				h := g.once(l, p, func(ctx context.Context, _ *bookTx) (*runtime.Response, error) {
					if at == "statement" && g.runs <= c.conflicts {
						return nil, errDeadlock
					}
					return created(ctx)
				})
				left := c.conflicts
				commit := func(tx *bookTx) error {
					if left--; at == "commit" && left >= 0 {
						return errors.Join(runtime.ErrTxConflict, errDeadlock)
					}
					if once {
						return l.committing(nil)(tx)
					}
					return tx.apply()
				}
				l.commit = commit
				first := do(h, request("k", ""))
				if first.Code != c.status || g.runs != c.runs {
					t.Errorf("once %v, conflict at %s, %+v: %d %s, %d runs", once, at, c, first.Code, first.Body, g.runs)
				}
				if c.status == 201 {
					wantReplay(t, first, do(h, request("k", "")))
					wantBook(t, l.txLedger, "line")
					continue
				}
				wantBook(t, l.txLedger)
				g.wantRow(l, false)
				if first.Header().Get("Retry-After") == "" {
					t.Error("the client was not told to come again")
				}
			}
		}
	}
}

func TestOnceNeedsALedgerThatCan(t *testing.T) {
	for name, l := range map[string]runtime.TxLedger[*bookTx]{
		"no method": &txLedger{}, "cannot": &onceLedger{cannot: true},
	} {
		g := newRig(t)
		runtime.HandleTx(g.server, l, oncePolicy(), orders, func(*runtime.Request) (runtime.TxWork[*bookTx], error) { return bookOne, nil })
		if err := g.server.Err(); err == nil || !strings.Contains(err.Error(), "cannot commit claim and effect together") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
