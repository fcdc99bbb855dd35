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
	open  bool // the claim is part of a transaction that has not committed
	// sent is when the owner token was first sent: the ledger counted its
	// lease from no earlier, so deadlines that count from here lie inside it.
	sent time.Time
}

// maxClaimStatements bounds what one request may ask of the ledger before its
// work runs, beside the count of what its caller keeps.
const maxClaimStatements = 3

// claim wins the key, or says why not: a replay or an *Error. It is insert if
// absent, read, one compare-and-set, in this order or, for keys that this
// process has met lately, beginning with the read.
func (g *Guard) claim(ctx context.Context, id ID, call Call, p plan) (*held, Result, error) {
	a := &call.exchange.attempt
	*a = attempt{guard: g, plan: p}
	a.claim.ID, a.claim.Terms, a.claim.Owner = id, g.terms, newOwner()
	a.claim.Operation, a.claim.Policy, a.claim.Fingerprint = g.policy.Operation, g.rule, g.digest(id, &call)
	a.held.fence = Fence{ID: id, Owner: a.claim.Owner}
	insertFirst := !g.engine.seen.meet(id)
	for full := false; a.statements < maxClaimStatements; insertFirst = true {
		if insertFirst && !full {
			// A caller with its fill of keys may go on with those that it has.
			var err error
			if full, err = g.engine.full(ctx, id.Principal); err != nil {
				return nil, Result{}, claimFailed(err)
			}
		}
		if insertFirst && !full {
			won, err := a.insert(ctx)
			if won || err != nil {
				return a.won(ctx, err)
			}
			if a.statements == maxClaimStatements {
				break
			}
		}
		a.statements++
		row, found, err := g.engine.ledger.Read(ctx, id)
		if err != nil {
			return nil, Result{}, claimFailed(err)
		}
		if found {
			return a.take(ctx, call, &row)
		}
		if full {
			return nil, Result{}, g.engine.refuseFull()
		}
	}
	return nil, Result{}, retryKey(nil)
}

// attempt is one request's attempt to claim a key.
type attempt struct {
	guard      *Guard
	plan       plan
	claim      Claim
	held       held
	statements int
}

// insert claims a key that no row holds, in a transaction where the plan says
// so: then nothing is left behind when it fails.
func (a *attempt) insert(ctx context.Context) (bool, error) {
	a.start()
	if a.plan.open == nil {
		claimed, won, err := a.guard.engine.ledger.Insert(ctx, a.claim)
		return a.wrote(1, true, claimed, won, err)
	}
	claimed, won, err := a.plan.open(ctx, a.claim)
	a.held.Claimed, a.held.fence.Generation, a.held.fresh, a.held.open = claimed, claimed.Generation, true, won
	return won, err
}

// start counts a statement, and the handler's time from the first of them.
func (a *attempt) start() {
	if a.held.sent.IsZero() {
		a.held.sent = time.Now()
	}
	a.statements++
}

// wrote is what a write that claims came to. A claim whose outcome is unknown
// is given back in the background, under the generation that it would have. One
// that certainly does not stand needs nothing.
func (a *attempt) wrote(generation int64, fresh bool, claimed Claimed, won bool, err error) (bool, error) {
	a.held.Claimed, a.held.fence.Generation, a.held.fresh = claimed, claimed.Generation, fresh
	// Nor does one whose row's lock did not come.
	if err != nil && !errors.Is(err, ErrNotSent) && !errors.Is(err, ErrRefused) && !errors.Is(err, ErrRowLocked) {
		a.guard.abandon(Fence{ID: a.claim.ID, Owner: a.claim.Owner, Generation: generation}, fresh)
	}
	return won, err
}

// won is what a write that succeeded or failed comes to.
func (a *attempt) won(ctx context.Context, err error) (*held, Result, error) {
	if err != nil {
		return nil, Result{}, claimFailed(err)
	}
	return a.guard.checkLease(ctx, &a.held, a.plan)
}

// take answers from the row that holds the key, or claims it.
func (a *attempt) take(ctx context.Context, call Call, row *Row) (*held, Result, error) {
	if row.Owner == a.claim.Owner && !row.Completed {
		return a.recognise(ctx, row)
	}
	if err := a.guard.endOutlived(ctx, a.claim.ID, row); err != nil {
		return nil, Result{}, claimFailed(err)
	}
	v, result, err := a.guard.decide(ctx, a.claim.ID, call, row)
	if v == answered {
		return nil, result, err
	}
	if a.statements == maxClaimStatements {
		return nil, Result{}, retryKey(nil)
	}
	seen := Fence{ID: a.claim.ID, Generation: row.Generation, Owner: row.Owner}
	write := a.guard.engine.ledger.Reuse
	if v == stale {
		write = a.guard.engine.ledger.TakeOver
	}
	end, ok := a.guard.engine.retakes.begin(a.claim.ID)
	if !ok {
		return nil, Result{}, inProgress(time.Second)
	}
	a.start()
	claimed, won, err := write(ctx, seen, a.claim)
	end()
	won, err = a.wrote(row.Generation+1, v == reusable, claimed, won, err)
	if !won && err == nil && v == reusable && a.statements < maxClaimStatements {
		// Swept since it was read, as like as not.
		won, err = a.insert(ctx)
	}
	if won || err != nil {
		return a.won(ctx, err)
	}
	return nil, Result{}, retryKey(nil)
}

// recognise takes up our own insert, whose answer was lost. That its row is seen
// does not say that it is durable; a write that comes after it does.
func (a *attempt) recognise(ctx context.Context, row *Row) (*held, Result, error) {
	own := Fence{ID: a.claim.ID, Owner: a.claim.Owner, Generation: row.Generation}
	claimed, held, err := a.guard.engine.ledger.Renew(ctx, own, a.guard.terms)
	if held, err = a.wrote(row.Generation, true, claimed, held, err); held || err != nil {
		return a.won(ctx, err)
	}
	return nil, Result{}, retryKey(nil)
}

// checkLease renews a claim that was recognised late: a write whose outcome
// was unknown may have stood for a while before the ledger was asked again.
func (g *Guard) checkLease(ctx context.Context, h *held, p plan) (*held, Result, error) {
	budget := min(g.policy.Timeout, g.policy.Lease-time.Second)
	if !h.open && time.Duration(h.LeaseUntil-h.Now)*time.Millisecond < budget {
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
	if budget-time.Since(h.sent) < budget/2 {
		if h.open {
			p.close(ctx)
		} else {
			g.giveBack(ctx, h)
		}
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

// abandon gives back, in the background, a claim that may or may not stand. Its
// lease ends it in any case.
func (g *Guard) abandon(f Fence, fresh bool) {
	g.engine.mender.add(&mending{guard: g, fence: f, until: time.Now().Add(g.policy.Lease), attempt: func(ctx context.Context) error {
		_, err := g.undo(ctx, f, fresh)
		return err
	}})
}
