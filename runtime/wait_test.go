package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/memory"
)

// waiting is two servers on one ledger, as two processes would be.
func waiting(t *testing.T) (a, b *rig, p runtime.Policy) {
	a, b = newRig(t), newRig(t)
	a.ledger.Ledger = memory.New()
	b.ledger.Ledger = a.ledger.Ledger
	p = policy()
	p.Wait = 10 * time.Second
	return a, b, p
}

// slowly answers after a while.
func slowly(d time.Duration) runtime.Work {
	return func(ctx context.Context) (*runtime.Response, error) {
		time.Sleep(d)
		return created(ctx)
	}
}

func TestDuplicateWaitsForTheOwner(t *testing.T) {
	for name, other := range map[string]bool{"in process": false, "in another process": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b, p := waiting(t)
				if !other {
					b = a
				}
				owner := make(chan *httptest.ResponseRecorder)
				owned := a.typed(p, slowly(3*time.Second))
				go func() { owner <- do(owned, request("k", "")) }()
				time.Sleep(time.Second)
				start := time.Now()
				duplicate := do(b.typed(p, created), request("k", ""))
				waited := time.Since(start)
				wantReplay(t, <-owner, duplicate)
				if !other && waited != 2*time.Second {
					t.Errorf("woken after %v, want 2s: at once", waited)
				}
				if waited < 2*time.Second || waited > 3*time.Second {
					t.Errorf("waited %v", waited)
				}
				if a.runs != 1 || other && b.runs != 0 {
					t.Errorf("%d and %d runs", a.runs, b.runs)
				}
			})
		})
	}
}

func TestWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, p := waiting(t)
		p.Wait = 2 * time.Second
		done := make(chan struct{})
		owned := a.typed(p, slowly(20*time.Second))
		go func() { defer close(done); do(owned, request("k", "")) }()
		time.Sleep(time.Second)
		start := time.Now()
		wantCode(t, do(a.typed(p, created), request("k", "")), 409, "idempotency_key_in_progress")
		if waited := time.Since(start); waited != 2*time.Second {
			t.Errorf("waited %v", waited)
		}
		wantCode(t, do(a.typed(p, created), request("k", "other")), 422, "idempotency_key_reused")
		<-done
	})
}

func TestWaiterThatHangsUpLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, p := waiting(t)
		done := make(chan struct{})
		owned := a.typed(p, slowly(5*time.Second))
		go func() { defer close(done); do(owned, request("k", "")) }()
		time.Sleep(time.Second)
		ctx, hangUp := context.WithTimeout(context.Background(), time.Second)
		defer hangUp()
		start := time.Now()
		wantCode(t, do(a.typed(p, created), request("k", "").WithContext(ctx)), 409, "idempotency_key_in_progress")
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("waited %v", waited)
		}
		<-done
	})
}

// A waiter whose owner released enters the claim again.
func TestWaiterRunsWhenTheOwnerReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, p := waiting(t)
		p.Failure = runtime.FailureRelease
		for i, g := range []*rig{a, b} {
			key := fmt.Sprint("k", i)
			done := make(chan struct{})
			owned := a.typed(p, func(context.Context) (*runtime.Response, error) {
				time.Sleep(2 * time.Second)
				return nil, errors.New("failed")
			})
			go func() { defer close(done); do(owned, request(key, "")) }()
			time.Sleep(time.Second)
			if w := do(g.typed(p, created), request(key, "")); w.Code != 201 || w.Header().Get("Idempotency-Replayed") != "" {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			<-done
		}
	})
}

// Those who wait for an owner that lets go of its key have one successor at a
// time, and wait for its answer as they did for the first.
func TestWaitersOutlastTheirOwner(t *testing.T) {
	for name, other := range map[string]bool{"in process": false, "in another process": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b, p := waiting(t)
				if !other {
					b = a
				}
				p.Failure = runtime.FailureRelease
				var runs atomic.Int32
				h := func(g *rig) http.Handler {
					return g.server.Handle(p, orders, func(*runtime.Request) (runtime.Work, error) {
						return func(ctx context.Context) (*runtime.Response, error) {
							time.Sleep(time.Second)
							if runs.Add(1) < 4 {
								return nil, errors.New("failed")
							}
							return created(ctx)
						}, nil
					})
				}
				owned, awaited := h(a), h(b)
				owner := make(chan struct{})
				go func() { defer close(owner); do(owned, request("k", "")) }()
				time.Sleep(500 * time.Millisecond)
				answers := make(chan *httptest.ResponseRecorder)
				for range 20 {
					go func() { answers <- do(awaited, request("k", "")) }()
				}
				codes := map[int]int{}
				for range 20 {
					codes[(<-answers).Code]++
				}
				<-owner
				// The owner and two of its successors fail, and say so themselves.
				if codes[500] != 2 || codes[201] != 18 || runs.Load() != 4 {
					t.Errorf("%v, %d runs", codes, runs.Load())
				}
			})
		})
	}
}

// However many wait for a key, the ledger is asked as for one; when the answer
// comes it is everybody's, and whoever sent another request is told.
func TestWaitersShareTheirPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, p := waiting(t)
		done := make(chan *httptest.ResponseRecorder)
		owned := a.typed(p, slowly(5*time.Second))
		go func() { done <- do(owned, request("k", "")) }()
		time.Sleep(time.Second)
		var reads atomic.Int32
		b.ledger.read = func(ctx context.Context, id runtime.ID) (runtime.Row, bool, error) {
			reads.Add(1)
			return b.ledger.Ledger.Read(ctx, id)
		}
		h := b.typed(p, created)
		const many = 500
		answers := make(chan *httptest.ResponseRecorder, many)
		for range many {
			go func() { answers <- do(h, request("k", "")) }()
		}
		synctest.Wait()
		before := reads.Load()
		first := <-done
		for range many {
			wantReplay(t, first, <-answers)
		}
		if polls := reads.Load() - before; polls > 12 {
			t.Errorf("%d reads in 4 s for %d who wait", polls, many)
		}
	})
}

// One who asks for all and hangs up leaves the asking to another.
func TestAskingIsHandedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, p := waiting(t)
		done := make(chan *httptest.ResponseRecorder)
		owned := a.typed(p, slowly(5*time.Second))
		go func() { done <- do(owned, request("k", "")) }()
		time.Sleep(time.Second)
		h := b.typed(p, created)
		ctx, hangUp := context.WithCancel(context.Background())
		asking := make(chan *httptest.ResponseRecorder)
		go func() { asking <- do(h, request("k", "").WithContext(ctx)) }()
		synctest.Wait()
		others := make(chan *httptest.ResponseRecorder)
		for range 3 {
			go func() { others <- do(h, request("k", "")) }()
		}
		synctest.Wait()
		hangUp()
		wantCode(t, <-asking, 409, "idempotency_key_in_progress")
		first := <-done
		for range 3 {
			wantReplay(t, first, <-others)
		}
	})
}

// A ledger that fails for a while costs those who wait nothing but the while.
func TestWaitersOutlastAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, p := waiting(t)
		done := make(chan *httptest.ResponseRecorder)
		owned := a.typed(p, slowly(5*time.Second))
		go func() { done <- do(owned, request("k", "")) }()
		time.Sleep(time.Second)
		start := time.Now()
		b.ledger.read = func(ctx context.Context, id runtime.ID) (runtime.Row, bool, error) {
			if up := time.Since(start); up > 100*time.Millisecond && up < 4500*time.Millisecond {
				return runtime.Row{}, false, runtime.ErrUnavailable
			}
			return b.ledger.Ledger.Read(ctx, id)
		}
		duplicate := do(b.typed(p, created), request("k", ""))
		wantReplay(t, <-done, duplicate)
	})
}

// A row that nobody can take is not asked for without a pause.
func TestWaitersPauseWhenTheClaimIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, p := waiting(t)
		do(a.typed(p, held), request("k", ""))
		time.Sleep(p.Lease)
		tries := 0
		b.ledger.takeOver = func(context.Context, runtime.Fence, runtime.Claim) (runtime.Claimed, bool, error) {
			tries++
			return runtime.Claimed{}, false, nil
		}
		start := time.Now()
		wantCode(t, do(b.typed(p, created), request("k", "")), 409, "idempotency_key_retry")
		if waited := time.Since(start); waited != p.Wait || tries > 20 {
			t.Errorf("%d tries in %v", tries, waited)
		}
	})
}
