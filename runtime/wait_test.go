package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
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
				go func() { owner <- do(a.typed(p, slowly(3*time.Second)), request("k", "")) }()
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
		go func() { defer close(done); do(a.typed(p, slowly(20*time.Second)), request("k", "")) }()
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
		go func() { defer close(done); do(a.typed(p, slowly(5*time.Second)), request("k", "")) }()
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

// A waiter whose owner released enters the claim again, once.
func TestWaiterRunsWhenTheOwnerReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, p := waiting(t)
		p.Failure = runtime.FailureRelease
		for i, g := range []*rig{a, b} {
			key := fmt.Sprint("k", i)
			done := make(chan struct{})
			go func() {
				defer close(done)
				do(a.typed(p, func(context.Context) (*runtime.Response, error) {
					time.Sleep(2 * time.Second)
					return nil, errors.New("failed")
				}), request(key, ""))
			}()
			time.Sleep(time.Second)
			if w := do(g.typed(p, created), request(key, "")); w.Code != 201 || w.Header().Get("Idempotency-Replayed") != "" {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			<-done
		}
	})
}

// Of many that wait for an owner that releases, one runs and the others, which
// enter the claim again, are refused or wait no longer.
func TestManyWaitersHaveOneSuccessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, p := waiting(t)
		p.Failure = runtime.FailureRelease
		done := make(chan struct{})
		go func() {
			defer close(done)
			do(a.typed(p, func(context.Context) (*runtime.Response, error) {
				time.Sleep(2 * time.Second)
				return nil, errors.New("failed")
			}), request("k", ""))
		}()
		time.Sleep(time.Second)
		runs := make(chan struct{}, 20)
		h := a.server.Handle(p, orders, func(*runtime.Request) (runtime.Work, error) {
			return func(ctx context.Context) (*runtime.Response, error) {
				runs <- struct{}{}
				time.Sleep(time.Second)
				return created(ctx)
			}, nil
		})
		answers := make(chan *httptest.ResponseRecorder)
		for range 20 {
			go func() { answers <- do(h, request("k", "")) }()
		}
		for range 20 {
			if w := <-answers; w.Code != 201 && w.Code != 409 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
		<-done
		if len(runs) != 1 {
			t.Errorf("%d runs", len(runs))
		}
	})
}
