package runtime_test

import (
	"context"
	goruntime "runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// A transaction that is known to have ended behind our back stays so when the
// rollback that follows does not reach the database: what the handler answered
// is not taken for done.
func TestTxEndedAndThenOutOfReach(t *testing.T) {
	g, l := newRig(t), &txLedger{complete: runtime.ErrTxEnded, rollback: runtime.ErrUnavailable}
	h := g.transacted(l, txPolicy(), bookOne)
	first := do(h, request("k", ""))
	wantCode(t, first, 500, "idempotency_outcome_unknown")
	wantReplay(t, first, do(h, request("k", "")))
}

// The key of a handler that ended its transaction is closed as soon as the
// ledger answers. The row that its own COMMIT has left is not given back: the
// effect stands.
func TestOnceEndedWhileTheLedgerIsDown(t *testing.T) {
	for end, commits := range map[string]bool{"commit": true, "rollback": false} {
		t.Run(end, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { endedWhileDown(t, commits) }) })
	}
}

func endedWhileDown(t *testing.T, commits bool) {
	g, l := newRig(t), &onceLedger{}
	p := oncePolicy()
	var down atomic.Bool
	g.ledger.insert = func(ctx context.Context, c runtime.Claim) (runtime.Claimed, bool, error) {
		if down.Load() {
			return runtime.Claimed{}, false, runtime.ErrUnavailable
		}
		return g.ledger.Ledger.Insert(ctx, c)
	}
	h := g.once(l, p, func(ctx context.Context, tx *bookTx) (*runtime.Response, error) {
		if tx.ended = true; commits {
			tx.endByHand()
			c := runtime.Claim{ID: tx.fence.ID, Owner: tx.fence.Owner, Terms: runtime.Terms{Lease: p.Lease, Retain: p.Retain}}
			if _, won, err := l.Insert(ctx, c); !won || err != nil {
				t.Error(won, err)
			}
		}
		down.Store(true)
		return created(ctx)
	})
	wantCode(t, do(h, request("k", "")), 500, "idempotency_outcome_unknown")
	synctest.Wait()
	g.wantRow(l, commits)
	down.Store(false)
	time.Sleep(time.Minute)
	row, found, err := l.Read(t.Context(), runtime.ID{Principal: "alice", Key: "k"})
	if err != nil || !found || row.Answer.Status != 500 {
		t.Errorf("the row is %+v, %v, %v", row, found, err)
	}
}

// Work that runs again and ends its goroutine is settled like any other: no
// transaction is left open, and the key is free.
func TestGoexitOfWorkThatRunsAgain(t *testing.T) {
	for _, once := range []bool{false, true} {
		g, l := newRig(t), &onceLedger{}
		p := txPolicy()
		p.Once, p.Retry = once, 1
		h := g.once(l, p, func(ctx context.Context, _ *bookTx) (*runtime.Response, error) {
			switch g.runs {
			case 1:
				return nil, errDeadlock
			case 2:
				goruntime.Goexit()
			}
			return created(ctx)
		})
		done := make(chan struct{})
		go func() {
			defer close(done)
			do(h, request("k", ""))
		}()
		<-done
		if l.rollbacks < 2 && !once || len(l.locked) > 0 {
			t.Errorf("once %v: a transaction was left open", once)
		}
		if w := do(h, request("k", "")); w.Code != 201 || g.runs != 3 {
			t.Errorf("once %v: the key is wedged: %d %s, %d runs", once, w.Code, w.Body, g.runs)
		}
	}
}
