package runtime_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/memory"
)

// renewing is a rig whose ledger runs on the bubble's clock.
func renewing(t *testing.T) (*rig, runtime.Policy) {
	g := newRig(t)
	g.ledger.Ledger = memory.New()
	p := policy()
	p.Renew, p.Lease, p.Timeout = true, 6*time.Second, 10*time.Minute
	return g, p
}

func TestRenewKeepsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, p := renewing(t)
		done := make(chan struct{})
		slow := g.typed(p, func(ctx context.Context) (*runtime.Response, error) {
			time.Sleep(time.Minute)
			return created(ctx)
		})
		go func() { defer close(done); do(slow, request("k", "")) }()
		for range 11 {
			time.Sleep(5 * time.Second)
			wantCode(t, do(slow, request("k", "")), 409, "idempotency_key_in_progress")
		}
		<-done
		if w := do(slow, request("k", "")); w.Code != 201 || g.runs != 1 {
			t.Errorf("%d, %d runs", w.Code, g.runs)
		}
	})
}

func TestRenewEndsWithTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, p := renewing(t)
		counted := &renewals{Ledger: g.ledger.Ledger}
		g.ledger.Ledger = counted
		do(g.typed(p, func(ctx context.Context) (*runtime.Response, error) {
			time.Sleep(5 * time.Second)
			return created(ctx)
		}), request("k", ""))
		before := counted.n.Load()
		time.Sleep(time.Minute)
		if after := counted.n.Load(); before != 2 || after != before {
			t.Errorf("%d renewals while it ran, %d a minute later; want 2 and none", before, after-before)
		}
	})
}

// renewals counts renewals, and refuses them when told to.
type renewals struct {
	runtime.Ledger
	n    atomic.Int32
	down atomic.Bool
}

func (r *renewals) Renew(ctx context.Context, f runtime.Fence, terms runtime.Terms) (runtime.Claimed, bool, error) {
	r.n.Add(1)
	if r.down.Load() {
		<-ctx.Done()
		return runtime.Claimed{}, false, ctx.Err()
	}
	return r.Ledger.Renew(ctx, f, terms)
}

// A ledger out of reach cancels the handler before its lease can run out.
func TestHandlerIsCancelledBeforeItsLeaseRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, p := renewing(t)
		unreachable := &renewals{Ledger: g.ledger.Ledger}
		unreachable.down.Store(true)
		g.ledger.Ledger = unreachable
		start := time.Now()
		w := do(g.typed(p, func(ctx context.Context) (*runtime.Response, error) {
			<-ctx.Done()
			if cause := context.Cause(ctx); !errors.Is(cause, runtime.ErrLeaseLost) {
				t.Errorf("cause %v", cause)
			}
			if ran := time.Since(start); ran >= p.Lease || ran < p.Lease/2 {
				t.Errorf("cancelled after %v of a lease of %v", ran, p.Lease)
			}
			return created(ctx)
		}), request("k", ""))
		// Nobody took the key over, so its fence holds and its answer stands.
		if w.Code != 201 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		wantReplay(t, w, do(g.typed(p, created), request("k", "")))
	})
}

// The ledger counts a lease from when it hears of the renewal, which may be long
// before its answer arrives.
func TestRenewedLeaseCountsFromItsSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, p := renewing(t)
		start := time.Now()
		renewed := false
		g.ledger.renew = func(ctx context.Context, f runtime.Fence, terms runtime.Terms) (runtime.Claimed, bool, error) {
			if renewed {
				<-ctx.Done()
				return runtime.Claimed{}, false, ctx.Err()
			}
			renewed = true
			claimed, held, err := g.ledger.Ledger.Renew(ctx, f, terms)
			time.Sleep(3 * time.Second)
			return claimed, held, err
		}
		do(g.typed(p, func(ctx context.Context) (*runtime.Response, error) {
			<-ctx.Done()
			if row, _, err := g.ledger.Read(context.WithoutCancel(ctx), runtime.ID{Principal: "alice", Key: "k"}); err != nil || row.LeaseUntil <= row.Now {
				t.Errorf("cancelled after %v, %v after the lease; %v", time.Since(start), time.Duration(row.Now-row.LeaseUntil)*time.Millisecond, err)
			}
			return created(ctx)
		}), request("k", ""))
	})
}

// A renewal that finds the claim taken over cancels the handler at once.
func TestHandlerIsCancelledWhenItsClaimIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, p := renewing(t)
		do(g.typed(p, func(ctx context.Context) (*runtime.Response, error) {
			id := runtime.ID{Principal: "alice", Key: "k"}
			row, _, err := g.ledger.Read(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			if ok, err := g.ledger.Release(ctx, runtime.Fence{ID: id, Generation: row.Generation, Owner: row.Owner}); !ok || err != nil {
				t.Fatal(ok, err)
			}
			<-ctx.Done()
			if cause := context.Cause(ctx); !errors.Is(cause, runtime.ErrLeaseLost) {
				t.Errorf("cause %v", cause)
			}
			return created(ctx)
		}), request("k", ""))
	})
}

func TestRenewIsNotForTransactions(t *testing.T) {
	g, p := newRig(t), txPolicy()
	p.Renew = true
	runtime.HandleTx(g.server, &txLedger{faulty: g.ledger}, p, orders, func(*runtime.Request) (runtime.TxWork[*bookTx], error) { return bookOne, nil })
	if err := g.server.Err(); err == nil {
		t.Error("accepted")
	}
}

// A handler that passes its timeout is renewed no longer: its lease runs out,
// and the key is free for another.
func TestRenewingEndsWithTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, p := renewing(t)
		p.Timeout = 20 * time.Second
		done, over := make(chan struct{}), make(chan struct{})
		stuck := g.typed(p, func(ctx context.Context) (*runtime.Response, error) {
			<-over
			return created(ctx)
		})
		go func() { defer close(done); do(stuck, request("k", "")) }()
		time.Sleep(p.Timeout - time.Second)
		wantCode(t, do(stuck, request("k", "")), 409, "idempotency_key_in_progress")
		time.Sleep(time.Second + p.Lease)
		synctest.Wait()
		if w := do(g.typed(p, created), request("k", "")); w.Code != 201 || g.runs != 2 {
			t.Errorf("a lease after the timeout: %d %s, %d runs", w.Code, w.Body, g.runs)
		}
		close(over)
		<-done
	})
}

// stuckOnce is what an observer and a logger of the user's may be: one call for
// alice's key never ends until it is told to.
type stuckOnce struct {
	slog.Handler
	stuck chan struct{}
}

func (s stuckOnce) Observe(_ context.Context, e runtime.Event) {
	if e.Kind == runtime.EventLedgerRetried {
		<-s.stuck
	}
}

func (s stuckOnce) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "could not be renewed") {
		<-s.stuck
	}
	return nil
}

// An observer or a logger that hangs for one handler costs no other its lease.
func TestSlowObserverCostsNobodyElseTheLease(t *testing.T) {
	for name, refuse := range map[string]error{"observer": runtime.ErrUnavailable, "logger": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := stuckOnce{slog.DiscardHandler, make(chan struct{})}
				g := newRig(t, runtime.WithObserver(slow), runtime.WithLogger(slog.New(slow)))
				g.ledger.Ledger = memory.New()
				g.ledger.renew = func(ctx context.Context, f runtime.Fence, terms runtime.Terms) (runtime.Claimed, bool, error) {
					if f.Key == "a" {
						return runtime.Claimed{}, false, refuse
					}
					return g.ledger.Ledger.Renew(ctx, f, terms)
				}
				p := policy()
				p.Renew, p.Lease, p.Timeout = true, 6*time.Second, 10*time.Minute
				h := g.server.Handle(p, orders, func(*runtime.Request) (runtime.Work, error) {
					return func(ctx context.Context) (*runtime.Response, error) {
						time.Sleep(time.Minute)
						return created(ctx)
					}, nil
				})
				var wg sync.WaitGroup
				wg.Go(func() { do(h, request("a", "")) })
				wg.Go(func() {
					time.Sleep(time.Second)
					if w := do(h, request("b", "")); w.Code != 201 {
						t.Errorf("%d %s", w.Code, w.Body)
					}
				})
				for range 5 {
					time.Sleep(10 * time.Second)
					wantCode(t, do(h, request("b", "")), 409, "idempotency_key_in_progress")
				}
				close(slow.stuck)
				wg.Wait()
			})
		})
	}
}
