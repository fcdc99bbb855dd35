package runtime

import (
	"context"
	"errors"
	"log/slog"
)

// transactedOnce settles work whose claim is part of its transaction. A key
// that a row holds already, left by an owner that held it or is gone, is taken
// over as any other: then the claim commits first.
type transactedOnce struct {
	*transacted
	claim Claim
	tx    interface {
		ending
		Undo(context.Context) error
	}
	open func(context.Context, Claim) (Claimed, bool, error)
}

func (t *transactedOnce) prepare(ctx context.Context, h *held) (execution, error) {
	if !h.open {
		return t.transacted.prepare(ctx, h)
	}
	return execution{work: workFunc(t.work), settle: t.settle, abandon: t.close}, nil
}

// close rolls back before any work ran.
func (t *transactedOnce) close(ctx context.Context) { t.tx.Rollback(ctx) }

// reopen claims again, for work that runs again.
func (t *transactedOnce) reopen(ctx context.Context, h *held) (bool, error) {
	claimed, won, err := t.open(ctx, t.claim)
	if won {
		h.Claimed, h.fence.Generation = claimed, claimed.Generation
	}
	return won, err
}

func (t *transactedOnce) settle(ctx context.Context, h *held, call Call, out *outcome) (Result, error) {
	for t.look(ctx, out); t.mayRunAgain(h, out); t.look(ctx, out) {
		if err := t.tx.Rollback(ctx); err != nil {
			return t.rolledBack(ctx, h, call, out, err)
		}
		if ok, err := t.runAgain(ctx, h, out, t.reopen); err != nil || !ok {
			return t.notReopened(ctx, h, call, out, err)
		}
	}
	if out.err != nil || out.as != FailureStore {
		return t.undo(ctx, h, call, out)
	}
	stored, fits := t.store(out.answer)
	if !fits {
		t.logTooLarge(ctx, h)
		out.answer = t.tooLarge()
		return t.undo(ctx, h, call, out)
	}
	stands, err := t.keepIn(ctx, t.tx, h, stored)
	switch {
	case errors.Is(err, ErrTxEnded):
		return t.rolledBack(ctx, h, call, out, errors.Join(err, t.tx.Rollback(ctx)))
	case errors.Is(err, ErrTxFailed):
		// The handler passed over the failure of a statement of its own.
		out.err, out.answer, out.as = err, t.failureAnswer(ctx, err, t.policy.Failure), t.policy.Failure
		return t.undo(ctx, h, call, out)
	case errors.Is(err, ErrRefused):
		// The savepoint went with the completion that was tried.
		out.err, out.answer = err, t.tooLarge()
		return t.rolledBack(ctx, h, call, out, t.tx.Rollback(ctx))
	case err != nil:
		return t.refuseUnrecorded(ctx, h, call, out, err)
	case !stands:
		t.tx.Rollback(ctx)
		return t.fencedOut(ctx, h, call, claimFailed)
	}
	return t.commit(ctx, h, call, out)
}

// commit ends a transaction whose row is as it shall stand.
func (t *transactedOnce) commit(ctx context.Context, h *held, call Call, out *outcome) (Result, error) {
	err := t.tx.Commit(ctx)
	switch {
	case errors.Is(err, ErrTxConflict):
		out.err, out.conflict = err, true
		if !t.mayRunAgain(h, out) {
			return t.tookNoEffect(ctx, h, out)
		}
		if ok, err := t.runAgain(ctx, h, out, t.reopen); err != nil || !ok {
			return t.notReopened(ctx, h, call, out, err)
		}
		return t.settle(ctx, h, call, out)
	case err != nil:
		return t.decide(ctx, h, call, out, err)
	}
	return t.stands(ctx, h, out), nil
}

// stands is what a caller gets whose row was committed.
func (t *transactedOnce) stands(ctx context.Context, h *held, out *outcome) Result {
	kind := EventCompleted
	if out.as == FailureHold {
		kind = EventHeld
	}
	t.observe(ctx, h.fence.ID, Event{Kind: kind, Generation: h.Generation, Status: out.answer.Status, Duration: out.took, Err: out.err})
	return Result{Answer: out.answer, Err: out.err}
}

// undo undoes the effect and settles the claim by what the outcome says: in
// the same transaction where the claim is to stay.
func (t *transactedOnce) undo(ctx context.Context, h *held, call Call, out *outcome) (Result, error) {
	t.passConflict(ctx, out)
	if out.as == FailureRelease {
		return t.rolledBack(ctx, h, call, out, t.tx.Rollback(ctx))
	}
	err := t.tx.Undo(ctx)
	if err == nil && out.as == FailureStore {
		stored, fits := t.store(out.answer)
		if !fits {
			t.logTooLarge(ctx, h)
			out.answer = t.tooLarge()
		}
		_, err = t.keepIn(ctx, t.tx, h, stored)
	}
	if errors.Is(err, ErrTxEnded) {
		return t.rolledBack(ctx, h, call, out, errors.Join(err, t.tx.Rollback(ctx)))
	}
	if err != nil {
		t.log(ctx, slog.LevelError, h.fence.ID, "the transaction could not keep the claim of work that was undone", slog.Any("error", err))
		return t.rolledBack(ctx, h, call, out, t.tx.Rollback(ctx))
	}
	t.logFailure(ctx, h, out)
	return t.commit(ctx, h, call, out)
}

// rolledBack settles a claim that went with its transaction. One that is to
// stay is made again, outside.
func (t *transactedOnce) rolledBack(ctx context.Context, h *held, call Call, out *outcome, err error) (Result, error) {
	if errors.Is(err, ErrTxEnded) {
		return t.ended(ctx, h, call, out, err)
	}
	if err != nil {
		t.log(ctx, slog.LevelError, h.fence.ID, "rollback failed", slog.Any("error", err))
	} else {
		t.passConflict(ctx, out)
	}
	if out.as == FailureRelease {
		t.logFailure(ctx, h, out)
		t.observe(ctx, h.fence.ID, Event{Kind: EventReleased, Generation: h.Generation, Status: out.answer.Status, Duration: out.took, Err: out.err})
		return Result{Answer: out.answer, Err: out.err}, nil
	}
	won, err := t.claimOutside(ctx, h)
	switch {
	case err != nil:
		return t.refused(ctx, h.fence.ID, claimFailed(err))
	case !won:
		return t.fencedOut(ctx, h, call, claimFailed)
	}
	return t.Guard.settle(ctx, h, call, out)
}

// claimOutside makes the claim again after its transaction is gone, under the
// same owner token: a row of that token which the transaction committed all
// the same is recognised.
func (t *transactedOnce) claimOutside(ctx context.Context, h *held) (bool, error) {
	won, err := t.insertOutside(ctx, h)
	if err != nil {
		t.abandon(Fence{ID: h.fence.ID, Owner: h.fence.Owner, Generation: 1}, true)
	}
	return won, err
}

// insertOutside is claimOutside without giving back a claim whose outcome is
// unknown.
func (t *transactedOnce) insertOutside(ctx context.Context, h *held) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	claimed, won, err := t.engine.ledger.Insert(ctx, t.again())
	if err == nil && won {
		h.Claimed, h.fence.Generation = claimed, claimed.Generation
	}
	return won, err
}

// again is the claim that the transaction has made, or has tried to make.
func (t *transactedOnce) again() Claim {
	c := t.claim
	c.Again = true
	return c
}

// ended completes a key whose transaction ended behind our back. Where the
// handler rolled it back there is no row yet that could be completed. A row
// that cannot be told of yet is closed later, and never given back.
func (t *transactedOnce) ended(ctx context.Context, h *held, call Call, out *outcome, cause error) (Result, error) {
	won, err := t.insertOutside(ctx, h)
	switch {
	case err == nil && !won:
		return t.fencedOut(ctx, h, call, outcomeUnknown)
	case err == nil || errors.Is(err, ErrRefused):
		return t.transacted.ended(ctx, h, call, out, cause)
	}
	t.closes(ctx, h, out, cause)
	stored, _ := t.store(out.answer)
	done := Event{Kind: EventCompleted, Generation: h.Generation, Status: out.answer.Status, Duration: out.took, Err: out.err}
	var x sealing
	t.later(ctx, h.fence, len(stored.Headers)+len(stored.Body), err, func(ctx context.Context) (bool, error) {
		if _, _, err := t.engine.ledger.Insert(ctx, t.again()); err != nil {
			return false, err
		}
		// A row that is there already may be this one, completed by an attempt
		// whose answer was lost.
		stands, err := t.keep(ctx, Completion{Fence: h.fence, Terms: t.terms, Answer: stored}, &x)
		if stands && err == nil {
			t.observe(ctx, h.fence.ID, done)
		}
		return stands, err
	})
	return Result{Answer: out.answer, Err: out.err}, nil
}

// decide settles a COMMIT that failed. The same claim, made again, waits for
// the transaction if it lives, and then finds its row or takes its place.
func (t *transactedOnce) decide(ctx context.Context, h *held, call Call, out *outcome, cause error) (Result, error) {
	won, err := t.claimOutside(ctx, h)
	completed := false
	if err == nil && !won {
		completed, err = t.engine.confirm(ctx, h.fence)
	}
	switch {
	case err != nil:
		t.observe(ctx, h.fence.ID, Event{Kind: EventUndecided, Generation: h.Generation, Err: cause})
		return t.refused(ctx, h.fence.ID, outcomeUnknown(errors.Join(cause, err)))
	case won && out.as == FailureHold:
		return t.stands(ctx, h, out), nil
	case won:
		t.giveBack(ctx, h)
		failure := ledgerDown(cause)
		failure.Message = "The request took no effect, because it could not be committed. Retry with the same key."
		t.observe(ctx, h.fence.ID, Event{Kind: EventReleased, Generation: h.Generation, Status: failure.Status, Duration: out.took, Err: cause})
		return t.refused(ctx, h.fence.ID, failure)
	case completed:
		return t.stands(ctx, h, out), nil
	}
	return t.fencedOut(ctx, h, call, claimFailed)
}

// notReopened answers after work was rolled back and could not begin again.
func (t *transactedOnce) notReopened(ctx context.Context, h *held, call Call, out *outcome, err error) (Result, error) {
	if err == nil {
		return t.fencedOut(ctx, h, call, claimFailed)
	}
	return t.tookNoEffect(ctx, h, out)
}

// tookNoEffect refuses a request of which nothing stands, neither effect nor
// claim.
func (t *transactedOnce) tookNoEffect(ctx context.Context, h *held, out *outcome) (Result, error) {
	t.passConflict(ctx, out)
	t.observe(ctx, h.fence.ID, Event{Kind: EventReleased, Generation: h.Generation, Status: out.answer.Status, Duration: out.took, Err: out.err})
	return t.refused(ctx, h.fence.ID, out.err)
}

// refuseUnrecorded rolls back work whose answer could not be recorded for now.
func (t *transactedOnce) refuseUnrecorded(ctx context.Context, h *held, call Call, out *outcome, cause error) (Result, error) {
	out.err, out.as = unrecorded(cause), FailureRelease
	out.answer = t.failureAnswer(ctx, out.err, out.as)
	return t.rolledBack(ctx, h, call, out, t.tx.Rollback(ctx))
}
