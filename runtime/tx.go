package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// DoTx is [Guard.Do] for work whose effects live in the ledger's own database:
// fn runs in a transaction that also stores the answer, so that both stand or
// neither does. The ledger must be the one of the guard's engine.
//
// An error of fn rolls the transaction back; so does an answer that the policy
// releases or holds, or that is too large to be kept. An owner that was fenced
// out rolls back and answers from the row that stands. fn must not end the
// transaction: a transaction that ended behind our back completes the key with
// a final 500 of CodeOutcomeUnknown, because its effects may stand.
func DoTx[T any](ctx context.Context, g *Guard, ledger TxLedger[T], call Call, fn func(context.Context, T) (Answer, error)) (Result, error) {
	return g.do(ctx, call, func(ctx context.Context, h *held) (execution, error) {
		tx, ok, err := ledger.Begin(ctx, h.fence, g.policy.Lease)
		if err != nil {
			return execution{}, err
		}
		if !ok {
			return execution{}, errClaimLost
		}
		t := &transacted{Guard: g, tx: tx}
		if teller, ok := ledger.(ConflictTeller); ok {
			t.conflict = teller.Conflict
		}
		return execution{
			work:   func(ctx context.Context) (Answer, error) { return fn(ctx, tx.Handle()) },
			settle: t.settle,
		}, nil
	})
}

// ConflictTeller is implemented by ledgers that know their database's errors.
// Conflict reports whether an error that work met in its transaction passes
// when the work runs again: a deadlock, a serialization failure, a lock that
// did not come.
type ConflictTeller interface {
	Conflict(err error) bool
}

// transacted settles work that ran in a transaction.
type transacted struct {
	*Guard
	conflict func(error) bool // nil where the ledger cannot tell
	tx       interface {
		Complete(context.Context, Completion) (bool, error)
		Commit(context.Context) error
		Rollback(context.Context) error
	}
}

func (t *transacted) settle(ctx context.Context, h *held, call Call, out *outcome) (Result, error) {
	ctx = context.WithoutCancel(ctx)
	if out.err != nil || out.as != FailureStore {
		return t.rollBack(ctx, h, call, out)
	}
	stored, fits := t.store(out.answer)
	if !fits {
		t.logTooLarge(ctx, h)
		out.answer = t.tooLarge()
		return t.rollBack(ctx, h, call, out)
	}
	stands, err := false, error(nil)
	if stored, err = t.engine.seal(ctx, h.fence.ID, stored); err != nil {
		err = fmt.Errorf("%w: the answer could not be sealed: %w", ErrUnavailable, err)
	} else {
		stands, err = t.tx.Complete(ctx, Completion{Fence: h.fence, Terms: t.terms, Answer: stored})
	}
	switch {
	case errors.Is(err, ErrTxEnded):
		return t.rollBack(ctx, h, call, out)
	case errors.Is(err, ErrTxFailed):
		// The handler passed over the failure of a statement of its own.
		out.err, out.answer, out.as = err, errorAnswer(t.policy.Errors, err), t.policy.Failure
		return t.rollBack(ctx, h, call, out)
	case err != nil && passing(err):
		out.err, out.as = &Error{Status: 503, Code: CodeLedgerUnavailable, RetryAfter: retryAtOnce, Cause: err,
			Message: "The request took no effect, because its answer could not be recorded. Retry with the same key."}, FailureRelease
		out.answer = errorAnswer(t.policy.Errors, out.err)
		return t.rollBack(ctx, h, call, out)
	case err != nil:
		out.err, out.answer = err, t.tooLarge()
		return t.rollBack(ctx, h, call, out)
	case !stands:
		if err := t.tx.Rollback(ctx); err != nil {
			return t.ended(ctx, h, call, out, err)
		}
		return t.fencedOut(ctx, h, call)
	}
	if err := t.tx.Commit(ctx); err != nil {
		return t.decide(ctx, h, call, out, err)
	}
	t.observe(ctx, h.fence.ID, Event{Kind: EventCompleted, Generation: h.Generation, Status: out.answer.Status, Duration: out.took})
	return Result{Answer: out.answer}, nil
}

// rollBack undoes the effect and then settles the claim outside the
// transaction. When our rollback fails, the fenced write that follows waits
// for the row's lock, which the transaction holds for as long as it lives.
func (t *transacted) rollBack(ctx context.Context, h *held, call Call, out *outcome) (Result, error) {
	err := t.tx.Rollback(ctx)
	if errors.Is(err, ErrTxEnded) {
		return t.ended(ctx, h, call, out, err)
	}
	if err != nil {
		t.log(ctx, slog.LevelError, h.fence.ID, "rollback failed", slog.Any("error", err))
	} else {
		t.passConflict(out)
	}
	return t.Guard.settle(ctx, h, call, out)
}

// passConflict makes an error of the work, which said nothing else of it, a
// refusal that invites a retry when the database rolled the work back for the
// sake of another.
func (t *transacted) passConflict(out *outcome) {
	var marked *disposedError
	if out.err == nil || t.conflict == nil || errors.As(out.err, &marked) || !t.conflict(out.err) {
		return
	}
	if _, classified := statusOf(out.err); classified {
		return
	}
	out.err, out.as = &Error{Status: 503, Code: CodeLedgerUnavailable, RetryAfter: retryAtOnce, Cause: out.err,
		Message: "The request took no effect, because it met another one in the database. Retry with the same key."}, FailureRelease
	out.answer = errorAnswer(t.policy.Errors, out.err)
}

// ended completes a claim whose transaction ended behind our back: its effects
// may stand, wholly or in part, so nothing may run again under this key.
func (t *transacted) ended(ctx context.Context, h *held, call Call, out *outcome, cause error) (Result, error) {
	t.log(ctx, slog.LevelError, h.fence.ID, "the transaction ended behind the ledger's back; its effects may stand, and the key is closed with an error",
		slog.Any("error", cause), slog.Any("handler_error", out.err))
	t.observe(ctx, h.fence.ID, Event{Kind: EventUndecided, Generation: h.Generation, Err: cause})
	out.err = &Error{Status: 500, Code: CodeOutcomeUnknown, Cause: cause,
		Message: "Whether the request took effect could not be told. It is not run again."}
	out.answer, out.as = errorAnswer(t.policy.Errors, out.err), FailureStore
	return t.Guard.settle(ctx, h, call, out)
}

// decide settles a COMMIT that failed. Only a fenced write that needs the
// row's lock can tell whether it stands: either the row is still this claim's,
// and the write takes the claim back, or it is completed.
func (t *transacted) decide(ctx context.Context, h *held, call Call, out *outcome, cause error) (Result, error) {
	limited, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	released, err := t.engine.ledger.Release(limited, h.fence)
	if err == nil && released {
		failure := ledgerDown(cause)
		failure.Message = "The request took no effect, because it could not be committed. Retry with the same key."
		t.observe(ctx, h.fence.ID, Event{Kind: EventReleased, Generation: h.Generation, Status: failure.Status, Duration: out.took, Err: cause})
		return t.refused(ctx, h.fence.ID, failure)
	}
	var row Row
	found := false
	if err == nil {
		row, found, err = t.engine.ledger.Read(limited, h.fence.ID)
	}
	if err != nil {
		t.observe(ctx, h.fence.ID, Event{Kind: EventUndecided, Generation: h.Generation, Err: cause})
		return t.refused(ctx, h.fence.ID, outcomeUnknown(errors.Join(cause, err)))
	}
	if found && row.Completed && row.Owner == h.fence.Owner {
		t.observe(ctx, h.fence.ID, Event{Kind: EventCompleted, Generation: h.Generation, Status: out.answer.Status, Duration: out.took})
		return Result{Answer: out.answer}, nil
	}
	return t.fencedOut(ctx, h, call)
}
