package runtime_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// One request of a process at a time takes a key over. The others are told that it
// is in progress, at once and without a connection, and other keys do not notice.
func TestOneTakeoverOfAKeyAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		p := policy()
		p.Failure = runtime.FailureHold
		failing := g.typed(p, func(context.Context) (*runtime.Response, error) { return nil, errors.New("held") })
		do(failing, request("k", ""))
		do(failing, request("other", ""))
		g.clock.move(p.Lease)
		var takeovers atomic.Int32
		locked := make(chan struct{})
		g.ledger.takeOver = func(ctx context.Context, seen runtime.Fence, c runtime.Claim) (runtime.Claimed, bool, error) {
			if c.Key == "k" {
				takeovers.Add(1)
				<-locked
				return runtime.Claimed{}, false, runtime.ErrRowLocked
			}
			return g.ledger.Ledger.TakeOver(ctx, seen, c)
		}
		g.ledger.endLease = func(context.Context, runtime.Fence) (bool, error) {
			t.Error("a takeover that met a lock is given back")
			return true, nil
		}
		h := g.typed(p, created)
		answers := make(chan *httptest.ResponseRecorder, 10)
		for range cap(answers) {
			go func() { answers <- do(h, request("k", "")) }()
		}
		synctest.Wait()
		if n := takeovers.Load(); n != 1 || len(answers) != cap(answers)-1 {
			t.Errorf("%d takeovers are under way, and %d requests have their answers", n, len(answers))
		}
		if w := do(h, request("other", "")); w.Code != 201 {
			t.Errorf("another key got %d %s", w.Code, w.Body)
		}
		close(locked)
		for range cap(answers) {
			wantCode(t, <-answers, 409, "idempotency_key_in_progress")
		}
		do(h, request("k", ""))
		if n := takeovers.Load(); n != 2 {
			t.Errorf("after the lock there were %d takeovers, want 2", n)
		}
		time.Sleep(time.Minute) // of what would be given back in the background
	})
}

// A claim that is recognised by a look at its row is one that may not be durable
// yet: it counts once a write to it is.
func TestOwnRowIsWrittenBeforeItCounts(t *testing.T) {
	for name, c := range map[string]struct {
		held bool
		err  error
		want int
	}{"durable": {true, nil, 201}, "lost": {false, nil, 409}, "unknown": {false, runtime.ErrUnavailable, 503}} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			g.ledger.insert = func(ctx context.Context, claim runtime.Claim) (runtime.Claimed, bool, error) {
				_, _, err := g.ledger.Ledger.Insert(ctx, claim)
				return runtime.Claimed{}, false, err
			}
			renewals := 0
			g.ledger.renew = func(ctx context.Context, f runtime.Fence, terms runtime.Terms) (runtime.Claimed, bool, error) {
				if renewals++; !c.held {
					return runtime.Claimed{}, false, c.err
				}
				return g.ledger.Ledger.Renew(ctx, f, terms)
			}
			if w := do(g.typed(policy(), created), request("k", "")); w.Code != c.want || renewals != 1 {
				t.Errorf("got %d %s after %d renewals, want %d after one", w.Code, w.Body, renewals, c.want)
			}
		})
	}
}
