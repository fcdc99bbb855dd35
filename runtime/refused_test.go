package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// A ledger that fails for a while, in a way that nobody has heard of, or that
// refuses whatever it is given, has said nothing of this answer: the caller
// gets it, it is stored when the ledger is back, and only then is it completed.
func TestAnswerOutlivesALedgerThatRefusesForAWhile(t *testing.T) {
	for name, failure := range map[string]error{
		"unheard of":       errors.New("failed to connect: role \"shop\" is not permitted to log in"),
		"unavailable":      runtime.ErrUnavailable,
		"refuses them all": fmt.Errorf("%w: a trigger says no", runtime.ErrRefused),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				var down atomic.Bool
				down.Store(true)
				g.ledger.complete = func(ctx context.Context, c runtime.Completion) (bool, error) {
					if down.Load() {
						return false, failure
					}
					return g.ledger.Ledger.Complete(ctx, c)
				}
				h := g.typed(policy(), created)
				first := do(h, request("k", ""))
				if first.Code != 201 || strings.Contains(g.events.kinds(), "completed") {
					t.Fatalf("got %d %s; events: %s", first.Code, first.Body, g.events.kinds())
				}
				time.Sleep(3 * time.Second)
				down.Store(false)
				time.Sleep(time.Minute)
				wantReplay(t, first, do(h, request("k", "")))
				if kinds := g.events.kinds(); g.runs != 1 || strings.Count(kinds, "completed") != 1 || !strings.HasSuffix(kinds, "completed replayed") {
					t.Errorf("%d runs; events: %s", g.runs, kinds)
				}
			})
		})
	}
}

// A write that nobody repeats any more is told of, and not told as done.
func TestWritesThatAreGivenUp(t *testing.T) {
	for name, failure := range map[string]runtime.Failure{"completion": runtime.FailureStore, "release": runtime.FailureRelease} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				var mended atomic.Bool
				defer mended.Store(true)
				g.ledger.complete = func(ctx context.Context, c runtime.Completion) (bool, error) {
					if !mended.Load() {
						return false, runtime.ErrUnavailable
					}
					return g.ledger.Ledger.Complete(ctx, c)
				}
				g.ledger.release = func(context.Context, runtime.Fence) (bool, error) { return false, runtime.ErrUnavailable }
				p := policy()
				p.Failure = failure
				do(g.typed(p, func(context.Context) (*runtime.Response, error) { return nil, errors.New("failed") }), request("k", ""))
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				if err := g.server.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Close: %v", err)
				}
				synctest.Wait()
				kinds := g.events.kinds()
				if !strings.HasSuffix(kinds, " gave_up") || strings.Contains(kinds, "completed") || strings.Contains(kinds, "released") || strings.Contains(kinds, "fenced_out") {
					t.Errorf("events: %s", kinds)
				}
			})
		})
	}
}

// A release whose answer was lost finds no row when it is sent again: it has
// released the key, and nobody has taken it over.
func TestReleaseWhoseAnswerWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		var again atomic.Bool
		g.ledger.release = func(ctx context.Context, f runtime.Fence) (bool, error) {
			held, err := g.ledger.Ledger.Release(ctx, f)
			if !again.Swap(true) {
				return false, runtime.ErrUnavailable
			}
			return held, err
		}
		p := policy()
		p.Failure = runtime.FailureRelease
		do(g.typed(p, func(context.Context) (*runtime.Response, error) { return nil, errors.New("failed") }), request("k", ""))
		time.Sleep(time.Minute)
		if kinds := g.events.kinds(); !strings.HasSuffix(kinds, " released") || strings.Contains(kinds, "fenced_out") {
			t.Errorf("events: %s", kinds)
		}
	})
}
