package runtime_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/memory"
)

const refusals = 100_000

// outage is a ledger that is away, and what it was asked for meanwhile.
type outage struct {
	*faulty
	away     atomic.Bool
	releases atomic.Int64
	at       atomic.Int64 // releases that run now
	most     atomic.Int64 // releases that ran beside each other
}

func newOutage(insert error) *outage {
	o := &outage{faulty: &faulty{Ledger: memory.New()}}
	o.away.Store(true)
	o.faulty.insert = func(ctx context.Context, c runtime.Claim) (runtime.Claimed, bool, error) {
		if o.away.Load() {
			return runtime.Claimed{}, false, insert
		}
		return o.Ledger.Insert(ctx, c)
	}
	o.release = func(ctx context.Context, f runtime.Fence) (bool, error) {
		o.releases.Add(1)
		if now := o.at.Add(1); now > o.most.Load() {
			o.most.Store(now)
		}
		defer o.at.Add(-1)
		time.Sleep(time.Millisecond)
		if o.away.Load() {
			return false, runtime.ErrUnavailable
		}
		return o.Ledger.Release(ctx, f)
	}
	return o
}

// refuse sends requests that the ledger refuses.
func (o *outage) refuse(t *testing.T, n int) *runtime.Engine {
	t.Helper()
	engine, err := runtime.NewEngine(o, quiet)
	if err != nil {
		t.Fatal(err)
	}
	guard, err := engine.Guard(policy())
	if err != nil {
		t.Fatal(err)
	}
	before := goruntime.NumGoroutine()
	for i := range n {
		call := runtime.Call{Principal: "alice", Key: fmt.Sprint("k", i), Fingerprint: func(runtime.Rule) [32]byte { return [32]byte{} }}
		if _, err := guard.Do(t.Context(), call, func(context.Context) (runtime.Answer, error) {
			t.Error("a request ran without a claim")
			return runtime.Answer{}, nil
		}); err == nil {
			t.Fatal("a request was not refused")
		}
	}
	if after := goruntime.NumGoroutine(); after > before+20 {
		t.Errorf("%d requests were refused, and %d goroutines are left", n, after-before)
	}
	return engine
}

// A claim that was not sent needs nothing.
func TestRefusalsBeforeTheClaimWasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(fmt.Errorf("%w: %w: nobody listens", runtime.ErrUnavailable, runtime.ErrNotSent))
		engine := o.refuse(t, refusals)
		time.Sleep(time.Minute)
		if n := o.releases.Load(); n != 0 {
			t.Errorf("%d claims were given back that were never sent", n)
		}
		if err := engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// Claims that may stand are given back by few, one at a time while the ledger is
// away, and not at all after their leases.
func TestRefusalsOfClaimsThatMayStand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(runtime.ErrUnavailable)
		engine := o.refuse(t, refusals)
		time.Sleep(policy().Lease / 2)
		if n, most := o.releases.Load(), o.most.Load(); n > 50 || most > 4 {
			t.Errorf("%d attempts on a ledger that is away, %d beside each other", n, most)
		}
		o.most.Store(0)
		o.away.Store(false)
		time.Sleep(policy().Lease / 4)
		if n, most := o.releases.Load(), o.most.Load(); n < 5_000 || n > 10_100 || most > 4 {
			t.Errorf("%d attempts on a ledger that is back, %d beside each other; want up to 10,000, and 4", n, most)
		}
		if err := engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func TestClaimsAreNotGivenBackAfterTheirLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(runtime.ErrUnavailable)
		engine := o.refuse(t, 1000)
		time.Sleep(policy().Lease + time.Second)
		o.away.Store(false)
		before := o.releases.Load()
		time.Sleep(time.Minute)
		if n := o.releases.Load() - before; n != 0 {
			t.Errorf("%d claims were given back after their leases", n)
		}
		if err := engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// A service that stops does not wait for claims under which nothing ran.
func TestCloseDoesNotWaitForClaimsOnALedgerThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(runtime.ErrUnavailable)
		o.release = func(ctx context.Context, _ runtime.Fence) (bool, error) {
			if o.releases.Add(1) > 1 {
				<-ctx.Done() // it hangs from now on
			}
			return false, runtime.ErrUnavailable
		}
		engine := o.refuse(t, 1000)
		time.Sleep(2 * time.Second)
		start := time.Now()
		if err := engine.Close(context.Background()); err != nil || time.Since(start) > time.Second {
			t.Errorf("Close: %v after %v", err, time.Since(start))
		}
	})
}

// They are given back all the same where the ledger answers.
func TestCloseGivesClaimsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(runtime.ErrUnavailable)
		o.release = func(context.Context, runtime.Fence) (bool, error) {
			o.releases.Add(1)
			return false, nil
		}
		engine := o.refuse(t, 1000)
		if err := engine.Close(context.Background()); err != nil || o.releases.Load() != 1000 {
			t.Errorf("Close: %v, %d of 1000 claims given back", err, o.releases.Load())
		}
	})
}

// What is owed is stored before claims are given back, and a row that is locked
// holds up no other.
func TestWhatIsOwedComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The ledger gives back one claim, which tells that it is there, and a
		// second one only when the answer that is owed is stored.
		var releases, completions atomic.Int64
		stored := make(chan struct{})
		o := newOutage(runtime.ErrUnavailable)
		o.complete = func(ctx context.Context, c runtime.Completion) (bool, error) {
			switch {
			case o.away.Load():
				return false, runtime.ErrUnavailable
			case c.Key == "locked":
				return false, runtime.ErrRowLocked
			}
			completions.Add(1)
			defer close(stored)
			return o.Ledger.Complete(ctx, c)
		}
		o.release = func(context.Context, runtime.Fence) (bool, error) {
			if o.away.Load() {
				return false, runtime.ErrUnavailable
			}
			if releases.Add(1) > 1 {
				<-stored
			}
			return true, nil
		}
		insert := o.faulty.insert
		o.faulty.insert = func(ctx context.Context, c runtime.Claim) (runtime.Claimed, bool, error) {
			if c.Key == "locked" || c.Key == "owed" {
				return o.Ledger.Insert(ctx, c)
			}
			return insert(ctx, c)
		}
		engine := o.refuse(t, 100)
		guard, err := engine.Guard(policy())
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"locked", "owed"} {
			call := runtime.Call{Principal: "alice", Key: key, Fingerprint: func(runtime.Rule) [32]byte { return [32]byte{} }}
			if _, err := guard.Do(t.Context(), call, func(context.Context) (runtime.Answer, error) { return runtime.Answer{Status: 201}, nil }); err != nil {
				t.Fatal(err)
			}
		}
		o.away.Store(false)
		time.Sleep(policy().Lease / 2)
		if completions.Load() != 1 || releases.Load() != 100 {
			t.Errorf("%d completions, %d claims given back; want 1 and 100", completions.Load(), releases.Load())
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := engine.Close(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "1 completions") {
			t.Errorf("Close: %v; want the locked one to be told of", err)
		}
	})
}
