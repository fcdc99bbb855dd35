package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

func TestLockedRowIsInProgress(t *testing.T) {
	g := newRig(t)
	g.ledger.insert = func(context.Context, runtime.Claim) (runtime.Claimed, bool, error) {
		return runtime.Claimed{}, false, runtime.ErrRowLocked
	}
	wantCode(t, do(g.typed(policy(), created), request("k", "")), 409, "idempotency_key_in_progress")
}

// A claim that failed with its outcome unknown is given back in the
// background, so that a retry need not wait for a lease that nobody uses.
func TestUnknownClaimIsGivenBack(t *testing.T) {
	g := newRig(t)
	ambiguous := true
	g.ledger.insert = func(ctx context.Context, c runtime.Claim) (runtime.Claimed, bool, error) {
		claimed, won, err := g.ledger.Ledger.Insert(ctx, c)
		if ambiguous {
			ambiguous = false
			return runtime.Claimed{}, false, runtime.ErrUnavailable
		}
		return claimed, won, err
	}
	released := make(chan struct{})
	g.ledger.release = func(ctx context.Context, f runtime.Fence) (bool, error) {
		defer close(released)
		return g.ledger.Ledger.Release(ctx, f)
	}
	h := g.typed(policy(), created)
	wantCode(t, do(h, request("k", "")), 503, "idempotency_ledger_unavailable")
	<-released
	if w := do(h, request("k", "")); w.Code != 201 {
		t.Errorf("afterwards %d %s", w.Code, w.Body)
	}
}

// An insert that stood although its answer was lost reports "held by a row";
// the read finds our own token there.
func TestOwnClaimIsRecognised(t *testing.T) {
	g := newRig(t)
	g.ledger.insert = func(ctx context.Context, c runtime.Claim) (runtime.Claimed, bool, error) {
		g.ledger.Ledger.Insert(ctx, c)
		return runtime.Claimed{}, false, nil
	}
	if w := do(g.typed(policy(), created), request("k", "")); w.Code != 201 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// The row vanishes between the insert and the read: claimed again once, then
// 409.
func TestRowGoneBetweenClaimAndLookUp(t *testing.T) {
	for inserts, want := range map[int]string{2: "201", 3: "409"} {
		g := newRig(t)
		tried := 0
		g.ledger.insert = func(ctx context.Context, c runtime.Claim) (runtime.Claimed, bool, error) {
			if tried++; tried < inserts {
				return runtime.Claimed{}, false, nil
			}
			return g.ledger.Ledger.Insert(ctx, c)
		}
		if w := do(g.typed(policy(), created), request("k", "")); fmt.Sprint(w.Code) != want || tried != 2 {
			t.Errorf("insert %d succeeds: %d %s after %d inserts", inserts, w.Code, w.Body, tried)
		}
	}
}

func TestTakeoverRaceHasOneWinner(t *testing.T) {
	g := newRig(t)
	p := policy()
	p.Failure = runtime.FailureHold
	do(g.typed(p, func(context.Context) (*runtime.Response, error) { return nil, errors.New("held") }), request("k", ""))
	g.clock.move(p.Lease)
	g.ledger.takeOver = func(ctx context.Context, seen runtime.Fence, c runtime.Claim) (runtime.Claimed, bool, error) {
		rival := c
		rival.Owner[0]++
		if _, won, err := g.ledger.Ledger.TakeOver(ctx, seen, rival); !won || err != nil {
			t.Errorf("the rival lost: %v", err)
		}
		return g.ledger.Ledger.TakeOver(ctx, seen, c)
	}
	wantCode(t, do(g.typed(p, created), request("k", "")), 409, "idempotency_key_retry")
	if g.runs != 1 {
		t.Errorf("%d runs", g.runs)
	}
}

// A claim that took more than half of the handler's time is given back: a
// fresh one deleted, one that was taken over left for the next takeover.
func TestLateClaimIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		p := policy()
		p.Failure = runtime.FailureHold
		delay := 12*time.Second + 501*time.Millisecond
		g.ledger.insert = func(ctx context.Context, c runtime.Claim) (runtime.Claimed, bool, error) {
			time.Sleep(delay)
			return g.ledger.Ledger.Insert(ctx, c)
		}
		h := g.typed(p, func(ctx context.Context) (*runtime.Response, error) { return nil, errors.New("held") })
		wantCode(t, do(h, request("k", "")), 503, "idempotency_ledger_unavailable")
		if g.runs != 0 {
			t.Fatal("the handler ran")
		}
		delay = 0
		do(h, request("k", ""))
		if g.runs != 1 {
			t.Fatal("the key was not given back")
		}
		g.clock.move(p.Lease)
		g.ledger.takeOver = func(ctx context.Context, seen runtime.Fence, c runtime.Claim) (runtime.Claimed, bool, error) {
			time.Sleep(13 * time.Second)
			return g.ledger.Ledger.TakeOver(ctx, seen, c)
		}
		wantCode(t, do(h, request("k", "")), 503, "idempotency_ledger_unavailable")
		g.ledger.takeOver = nil
		var generation int64
		do(g.typed(p, func(ctx context.Context) (*runtime.Response, error) {
			generation = runtime.Generation(ctx)
			return created(ctx)
		}), request("k", ""))
		if generation != 3 {
			t.Errorf("generation %d, want 3: the row keeps its history", generation)
		}
	})
}

func TestConcurrentRequestsRunOnce(t *testing.T) {
	g := newRig(t)
	var runs atomic.Int32
	h := g.server.Handle(policy(), orders, func(*runtime.Request) (runtime.Work, error) {
		return func(ctx context.Context) (*runtime.Response, error) { runs.Add(1); return created(ctx) }, nil
	})
	for round := range 200 {
		runs.Store(0)
		answers := make(chan *httptest.ResponseRecorder)
		for range 16 {
			go func() { answers <- do(h, request(fmt.Sprint(round), "")) }()
		}
		for range 16 {
			if w := <-answers; w.Code != 201 && w.Code != 409 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
		if runs.Load() != 1 {
			t.Errorf("round %d: %d runs", round, runs.Load())
		}
	}
}

// A row that a sweep deletes between the look at it and its reuse leaves the
// key to be claimed as any new one, while there is a statement left for it.
func TestRowSweptBeforeItsReuse(t *testing.T) {
	g := newRig(t)
	h := g.typed(policy(), created)
	do(h, request("k", ""))
	g.clock.move(policy().Retain)
	g.ledger.read = func(ctx context.Context, id runtime.ID) (runtime.Row, bool, error) {
		row, found, err := g.ledger.Ledger.Read(ctx, id)
		if n, sweepErr := g.ledger.Ledger.Sweep(ctx, 10); n != 1 || sweepErr != nil {
			t.Errorf("swept %d, %v", n, sweepErr)
		}
		return row, found, err
	}
	if w := do(h, request("k", "")); w.Code != 201 || g.runs != 2 {
		t.Errorf("got %d %s, %d runs", w.Code, w.Body, g.runs)
	}
}

// A claim that could not be given back at once is given back later.
func TestLateClaimIsGivenBackInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.ledger.insert = func(ctx context.Context, c runtime.Claim) (runtime.Claimed, bool, error) {
			time.Sleep(13 * time.Second)
			return g.ledger.Ledger.Insert(ctx, c)
		}
		failed := false
		g.ledger.release = func(ctx context.Context, f runtime.Fence) (bool, error) {
			if !failed {
				failed = true
				return false, runtime.ErrUnavailable
			}
			return g.ledger.Ledger.Release(ctx, f)
		}
		h := g.typed(policy(), created)
		wantCode(t, do(h, request("k", "")), 503, "idempotency_ledger_unavailable")
		synctest.Wait()
		g.ledger.insert = nil
		if w := do(h, request("k", "")); w.Code != 201 {
			t.Errorf("afterwards %d %s", w.Code, w.Body)
		}
	})
}

// recognisedLate claims as a ledger does that sends a claim again after its
// answer was lost: little is left of the lease.
func recognisedLate(g *rig) {
	g.ledger.insert = func(ctx context.Context, c runtime.Claim) (runtime.Claimed, bool, error) {
		_, won, err := g.ledger.Ledger.Insert(ctx, c)
		g.clock.move(c.Lease - 2*time.Second)
		if !won || err != nil {
			return runtime.Claimed{}, won, err
		}
		row, _, err := g.ledger.Ledger.Read(ctx, c.ID)
		return runtime.Claimed{Generation: row.Generation, ClaimedAt: row.ClaimedAt, LeaseUntil: row.LeaseUntil, Now: row.Now}, true, err
	}
}

// The handler must not run into the end of a lease that began long ago.
func TestClaimRecognisedLateIsRenewed(t *testing.T) {
	g := newRig(t)
	recognisedLate(g)
	h := g.typed(policy(), func(ctx context.Context) (*runtime.Response, error) {
		row, _, err := g.ledger.Read(ctx, runtime.ID{Principal: "alice", Key: "k"})
		if left := time.Duration(row.LeaseUntil-row.Now) * time.Millisecond; err != nil || left != policy().Lease {
			t.Errorf("%v of the lease are left, %v; want %v", left, err, policy().Lease)
		}
		return created(ctx)
	})
	if w := do(h, request("k", "")); w.Code != 201 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// A claim that was taken over before it was recognised is not run under.
func TestClaimRecognisedLateAndLost(t *testing.T) {
	g := newRig(t)
	recognisedLate(g)
	g.ledger.renew = func(context.Context, runtime.Fence, runtime.Terms) (runtime.Claimed, bool, error) {
		return runtime.Claimed{}, false, nil
	}
	wantCode(t, do(g.typed(policy(), created), request("k", "")), 409, "idempotency_key_retry")
	if g.runs != 0 {
		t.Errorf("%d runs", g.runs)
	}
}

// Nor is one that cannot be renewed: it is given back.
func TestClaimRecognisedLateOnALedgerThatIsDown(t *testing.T) {
	g := newRig(t)
	recognisedLate(g)
	g.ledger.renew = func(context.Context, runtime.Fence, runtime.Terms) (runtime.Claimed, bool, error) {
		return runtime.Claimed{}, false, runtime.ErrUnavailable
	}
	released := make(chan struct{})
	g.ledger.release = func(ctx context.Context, f runtime.Fence) (bool, error) {
		defer close(released)
		return g.ledger.Ledger.Release(ctx, f)
	}
	wantCode(t, do(g.typed(policy(), created), request("k", "")), 503, "idempotency_ledger_unavailable")
	<-released
	if g.runs != 0 {
		t.Errorf("%d runs", g.runs)
	}
}

// A client that hangs up while its claim is on the way must not leave a claim
// of which nobody knows.
func TestHangUpBeforeTheClaim(t *testing.T) {
	g := newRig(t)
	ctx, hangUp := context.WithCancel(context.Background())
	g.ledger.insert = func(ctx context.Context, c runtime.Claim) (runtime.Claimed, bool, error) {
		hangUp()
		if err := ctx.Err(); err != nil {
			t.Errorf("the claim's context ended with the client: %v", err)
		}
		return g.ledger.Ledger.Insert(ctx, c)
	}
	if w := do(g.typed(policy(), created), request("k", "").WithContext(ctx)); w.Code != 201 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// Callers without a transport are held to the same rules.
func TestGuardChecksTheCall(t *testing.T) {
	g := newRig(t)
	engine, err := runtime.NewEngine(g.ledger, quiet)
	if err != nil {
		t.Fatal(err)
	}
	guard, err := engine.Guard(policy())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		principal, key, code string
	}{
		{"", "k", runtime.CodePrincipalInvalid},
		{strings.Repeat("p", 256), "k", runtime.CodePrincipalInvalid},
		{"alice", "", runtime.CodeKeyInvalid},
		{"alice", "\x00", runtime.CodeKeyInvalid},
	} {
		call := runtime.Call{Principal: c.principal, Key: c.key, Fingerprint: func(runtime.Rule) [32]byte { return [32]byte{} }}
		_, err := guard.Do(t.Context(), call, func(context.Context) (runtime.Answer, error) {
			t.Errorf("principal %q, key %q: the work ran", c.principal, c.key)
			return runtime.Answer{}, nil
		})
		var refusal *runtime.Error
		if !errors.As(err, &refusal) || refusal.Code != c.code {
			t.Errorf("principal %q, key %q: %v", c.principal, c.key, err)
		}
	}
}
