package runtime

import (
	"context"
	"errors"
	"time"
)

// held is a claim that was won.
type held struct {
	Claimed
	fence Fence
	fresh bool // nothing ran under an earlier claim of the row
	// sent is when the owner token was first sent: the ledger counted its
	// lease from no earlier, so deadlines that count from here lie inside it.
	sent time.Time
}

// claim wins the key, or says why not: a replay or an *Error. It is insert if
// absent, read, one compare-and-set, in this order or, for keys that this
// process has met lately, beginning with the read.
func (g *Guard) claim(ctx context.Context, id ID, call Call) (*held, Result, error) {
	l := g.engine.ledger
	c := Claim{
		ID: id, Terms: g.terms, Owner: newOwner(),
		Operation: g.policy.Operation, Policy: g.rule, Fingerprint: call.Fingerprint(g.policy.Fingerprint),
	}
	h := &held{fence: Fence{ID: id, Owner: c.Owner}}
	send := func(write func() (Claimed, bool, error)) (bool, error) {
		if h.sent.IsZero() {
			h.sent = time.Now()
		}
		claimed, won, err := write()
		h.Claimed, h.fence.Generation = claimed, claimed.Generation
		return won, err
	}
	insert := func() (bool, error) {
		h.fresh = true
		won, err := send(func() (Claimed, bool, error) { return l.Insert(ctx, c) })
		if err != nil {
			g.abandon(Fence{ID: id, Owner: c.Owner, Generation: 1}, true)
		}
		return won, err
	}

	known := g.engine.seen.has(id)
	g.engine.seen.add(id)
	for try := 0; try < 2; try++ {
		if try > 0 || !known {
			won, err := insert()
			if err != nil {
				return nil, Result{}, claimFailed(err)
			}
			if won {
				return g.checkLease(ctx, h)
			}
		}
		row, found, err := l.Read(ctx, id)
		if err != nil {
			return nil, Result{}, claimFailed(err)
		}
		if !found {
			continue
		}
		if row.Owner == c.Owner && !row.Completed {
			h.Claimed = Claimed{Generation: row.Generation, ClaimedAt: row.ClaimedAt, LeaseUntil: row.LeaseUntil, Now: row.Now}
			h.fence.Generation = row.Generation
			return g.checkLease(ctx, h)
		}
		return g.takeRow(ctx, h, c, call, &row, send)
	}
	return nil, Result{}, retryKey(nil)
}

// takeRow answers from the row that holds the key, or claims it.
func (g *Guard) takeRow(ctx context.Context, h *held, c Claim, call Call, row *Row,
	send func(func() (Claimed, bool, error)) (bool, error)) (*held, Result, error) {
	v, result, err := g.decide(call, row)
	if v == answered {
		return nil, result, err
	}
	seen := Fence{ID: c.ID, Generation: row.Generation, Owner: row.Owner}
	write := g.engine.ledger.Reuse
	if v == stale {
		write = g.engine.ledger.TakeOver
	}
	h.fresh = v == reusable
	won, err := send(func() (Claimed, bool, error) { return write(ctx, seen, c) })
	if err != nil {
		g.abandon(Fence{ID: c.ID, Owner: c.Owner, Generation: row.Generation + 1}, h.fresh)
		return nil, Result{}, claimFailed(err)
	}
	if !won {
		return nil, Result{}, retryKey(nil)
	}
	return g.checkLease(ctx, h)
}

// checkLease renews a claim that was recognised late: a write whose outcome
// was unknown may have stood for a while before the ledger was asked again.
func (g *Guard) checkLease(ctx context.Context, h *held) (*held, Result, error) {
	want := min(g.policy.Timeout, g.policy.Lease-time.Second)
	if time.Duration(h.LeaseUntil-h.Now)*time.Millisecond < want {
		renewed, ok, err := g.engine.ledger.Renew(ctx, h.fence, g.terms)
		if err != nil {
			g.abandon(h.fence, h.fresh)
			return nil, Result{}, claimFailed(err)
		}
		if !ok {
			return nil, Result{}, retryKey(nil)
		}
		h.LeaseUntil, h.Now = renewed.LeaseUntil, renewed.Now
	}
	if g.policy.Timeout-time.Since(h.sent) < g.policy.Timeout/2 {
		g.giveBack(ctx, h)
		return nil, Result{}, ledgerDown(errClaimLate)
	}
	return h, Result{}, nil
}

var errClaimLate = errors.New("the claim took more than half of the handler's time")

// claimFailed is the answer to a claim that the ledger did not take. A row
// lock that does not come is another request at work on the key.
func claimFailed(err error) *Error {
	if errors.Is(err, ErrRowLocked) {
		return inProgress(time.Second)
	}
	return ledgerDown(err)
}

// giveBack undoes a claim under which nothing ran. A row that was taken over
// keeps its history.
func (g *Guard) giveBack(ctx context.Context, h *held) {
	if _, err := g.undo(ctx, h.fence, h.fresh); err != nil {
		g.abandon(h.fence, h.fresh)
	}
}

func (g *Guard) undo(ctx context.Context, f Fence, fresh bool) (bool, error) {
	if fresh {
		return g.engine.ledger.Release(ctx, f)
	}
	return g.engine.ledger.EndLease(ctx, f)
}

// abandon gives back, in the background, a claim that may or may not stand.
func (g *Guard) abandon(f Fence, fresh bool) {
	g.engine.background.run(true, func(ctx context.Context) {
		g.persist(ctx, f, func(ctx context.Context) error {
			_, err := g.undo(ctx, f, fresh)
			return err
		})
	})
}
