package runtime

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/boundary"
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
//
// With the policy's Once the claim is part of that transaction too, where the
// key is new; the ledger must be a [OnceLedger] then. With its Retry fn runs
// again, in a transaction of its own, after the database rolled it back for the
// sake of another.
func DoTx[T any](ctx context.Context, g *Guard, ledger TxLedger[T], call Call, fn func(context.Context, T) (Answer, error)) (Result, error) {
	if isNil(ledger) {
		return Result{}, errNoTxLedger
	}
	if err := cmp.Or(g.policy.insideTx(canOnce(ledger)), call.complete()); err != nil {
		return Result{}, err
	}
	t := &transacted{Guard: g, retries: g.policy.Retry}
	use := func(tx Tx[T]) {
		t.tx = tx
		t.teller, _ = tx.(ConflictTeller)
		if boundary.Armed() {
			t.tx = steppedTx{tx}
		}
		t.work = func(ctx context.Context) (Answer, error) { return fn(ctx, tx.Handle()) }
	}
	t.begin = func(ctx context.Context, h *held) (bool, error) {
		boundary.Reach(ctx, "before the transaction begins")
		tx, ok, err := ledger.Begin(ctx, h.fence, g.policy.Lease)
		if ok && err == nil {
			use(tx)
		}
		return ok, err
	}
	if !g.policy.Once {
		return g.do(ctx, call, plan{prepare: t.prepare})
	}
	once := ledger.(OnceLedger[T])
	o := &transactedOnce{transacted: t}
	o.open = func(ctx context.Context, c Claim) (Claimed, bool, error) {
		boundary.Reach(ctx, "before the transaction begins")
		tx, claimed, won, err := once.BeginOnce(ctx, c)
		if won && err == nil {
			use(tx)
			o.claim, o.tx = c, tx
			if boundary.Armed() {
				o.tx = steppedOnceTx{steppedTx{tx}, tx.Undo}
			}
		}
		return claimed, won && err == nil, err
	}
	return g.do(ctx, call, plan{prepare: o.prepare, open: o.open, close: o.close})
}

// ConflictTeller is implemented by transactions that know whether they have lost
// to another one.
type ConflictTeller interface {
	// Conflict reports whether err, with which the work ended, is what the
	// transaction itself has met for the sake of another: a deadlock, a
	// serialization failure, a lock that did not come. An error of that kind
	// may as well come of another database: so the state of the transaction
	// decides, which is asked before it ends. What cannot be told is false.
	Conflict(ctx context.Context, err error) bool
}

// transacted settles work that ran in a transaction.
type transacted struct {
	*Guard
	retries int // left
	// begin opens a transaction under a claim; tx and work are its own then.
	begin  func(context.Context, *held) (bool, error)
	tx     ending
	teller ConflictTeller // nil where the transaction cannot tell
	work   func(context.Context) (Answer, error)
}

// ending is what ends a transaction.
type ending interface {
	Complete(context.Context, Completion) (bool, error)
	Commit(context.Context) error
	Rollback(context.Context) error
}

func (t *transacted) prepare(ctx context.Context, h *held) (execution, error) {
	ok, err := t.begin(ctx, h)
	if err != nil {
		return execution{}, err
	}
	if !ok {
		return execution{}, errClaimLost
	}
	return execution{work: workFunc(t.work), settle: t.settle, abandon: t.cut}, nil
}

// cut rolls back a transaction whose settlement was cut short.
func (t *transacted) cut(ctx context.Context) { t.tx.Rollback(ctx) }

func (t *transacted) settle(ctx context.Context, h *held, call Call, out *outcome) (Result, error) {
	for t.look(ctx, out); t.mayRunAgain(h, out); t.look(ctx, out) {
		if err := t.tx.Rollback(ctx); err != nil {
			return t.rolledBack(ctx, h, call, out, err)
		}
		if ok, err := t.runAgain(ctx, h, out, t.begin); err != nil || !ok {
			return t.notBegun(ctx, h, call, out, err)
		}
	}
	if out.err != nil || out.as != FailureStore {
		return t.rollBack(ctx, h, call, out)
	}
	stored, fits := t.store(out.answer)
	if !fits {
		t.logTooLarge(ctx, h)
		out.answer = t.tooLarge()
		return t.rollBack(ctx, h, call, out)
	}
	stands, err := t.keepIn(ctx, t.tx, h, stored)
	switch {
	case errors.Is(err, ErrTxEnded):
		// Known, whatever a rollback says that does not reach the database.
		return t.rolledBack(ctx, h, call, out, errors.Join(err, t.tx.Rollback(ctx)))
	case errors.Is(err, ErrTxFailed):
		// The handler passed over the failure of a statement of its own.
		out.err, out.answer, out.as = err, t.failureAnswer(ctx, err, t.policy.Failure), t.policy.Failure
		return t.rollBack(ctx, h, call, out)
	case errors.Is(err, ErrRefused):
		out.err, out.answer = err, t.tooLarge()
		return t.rollBack(ctx, h, call, out)
	case err != nil:
		out.err, out.as = unrecorded(err), FailureRelease
		out.answer = t.failureAnswer(ctx, out.err, out.as)
		return t.rollBack(ctx, h, call, out)
	case !stands:
		if err := t.tx.Rollback(ctx); err != nil {
			return t.ended(ctx, h, call, out, err)
		}
		return t.fencedOut(ctx, h, call, claimFailed)
	}
	err = t.tx.Commit(ctx)
	if errors.Is(err, ErrTxConflict) {
		return t.conflicted(ctx, h, call, out, err)
	}
	if err != nil {
		return t.decide(ctx, h, call, out, err)
	}
	t.observe(ctx, h.fence.ID, Event{Kind: EventCompleted, Generation: h.Generation, Status: out.answer.Status, Duration: out.took})
	return Result{Answer: out.answer}, nil
}

// keepIn seals an answer and stores it inside a transaction.
func (g *Guard) keepIn(ctx context.Context, tx ending, h *held, stored StoredAnswer) (bool, error) {
	sealed, err := new(sealing).seal(ctx, &g.engine.settings, h.fence, stored)
	if err != nil {
		return false, err
	}
	return tx.Complete(ctx, Completion{Fence: h.fence, Terms: g.terms, Answer: sealed})
}

// conflicted settles work that was rolled back at its commit.
func (t *transacted) conflicted(ctx context.Context, h *held, call Call, out *outcome, cause error) (Result, error) {
	out.err, out.conflict = cause, true
	if !t.mayRunAgain(h, out) {
		t.passConflict(ctx, out)
		return t.Guard.settle(ctx, h, call, out)
	}
	if ok, err := t.runAgain(ctx, h, out, t.begin); err != nil || !ok {
		return t.notBegun(ctx, h, call, out, err)
	}
	return t.settle(ctx, h, call, out)
}

// rollBack undoes the effect and then settles the claim outside the
// transaction. When our rollback fails, the fenced write that follows waits
// for the row's lock, which the transaction holds for as long as it lives.
func (t *transacted) rollBack(ctx context.Context, h *held, call Call, out *outcome) (Result, error) {
	return t.rolledBack(ctx, h, call, out, t.tx.Rollback(ctx))
}

// rolledBack is rollBack once the transaction was ended.
func (t *transacted) rolledBack(ctx context.Context, h *held, call Call, out *outcome, err error) (Result, error) {
	if errors.Is(err, ErrTxEnded) {
		return t.ended(ctx, h, call, out, err)
	}
	if err != nil {
		t.log(ctx, slog.LevelError, h.fence.ID, "rollback failed", slog.Any("error", err))
	} else {
		t.passConflict(ctx, out)
	}
	return t.Guard.settle(ctx, h, call, out)
}

// look asks the transaction of work that has just ended whether the error, of
// which the work said nothing else, is its own, and given to it for the sake of
// another transaction.
func (t *transacted) look(ctx context.Context, out *outcome) {
	out.conflict = false
	var marked *disposedError
	if out.err == nil || t.teller == nil || errors.As(out.err, &marked) {
		return
	}
	if _, classified := statusOf(out.err); !classified {
		out.conflict = t.teller.Conflict(ctx, out.err)
	}
}

// passConflict makes a conflict a refusal that invites a retry.
func (t *transacted) passConflict(ctx context.Context, out *outcome) {
	if !out.conflict {
		return
	}
	out.conflict = false
	out.err, out.as = &Error{Status: 503, Code: CodeLedgerUnavailable, RetryAfter: retryAtOnce, Cause: out.err,
		Message: "The request took no effect, because it met another one in the database. Retry with the same key."}, FailureRelease
	out.answer = t.failureAnswer(ctx, out.err, out.as)
}

// mayRunAgain reports whether work that met a conflict runs again in the same
// claim: there is time for it, and it has not been tried too often.
func (t *transacted) mayRunAgain(h *held, out *outcome) bool {
	return t.retries > 0 && out.conflict && time.Since(h.sent) < t.policy.Timeout
}

// runAgain runs the work in a new transaction.
func (t *transacted) runAgain(ctx context.Context, h *held, out *outcome, begin func(context.Context, *held) (bool, error)) (bool, error) {
	t.retries--
	t.log(ctx, slog.LevelInfo, h.fence.ID, "the handler met another transaction and runs again", slog.Any("error", out.err))
	if ok, err := begin(ctx, h); err != nil || !ok {
		return false, err
	}
	*out = outcome{}
	t.run(ctx, h, out, workFunc(t.work))
	return true, nil
}

// notBegun settles a claim whose work was rolled back and could not begin
// again.
func (t *transacted) notBegun(ctx context.Context, h *held, call Call, out *outcome, err error) (Result, error) {
	if err == nil {
		return t.fencedOut(ctx, h, call, claimFailed)
	}
	t.passConflict(ctx, out)
	return t.Guard.settle(ctx, h, call, out)
}

// ended completes a claim whose transaction ended behind our back: its effects
// may stand, wholly or in part, so nothing may run again under this key.
func (t *transacted) ended(ctx context.Context, h *held, call Call, out *outcome, cause error) (Result, error) {
	t.closes(ctx, h, out, cause)
	return t.Guard.settle(ctx, h, call, out)
}

// closes makes an outcome the one that closes such a claim.
func (t *transacted) closes(ctx context.Context, h *held, out *outcome, cause error) {
	t.log(ctx, slog.LevelError, h.fence.ID, "the transaction ended behind the ledger's back; its effects may stand, and the key is closed with an error",
		slog.Any("error", cause), slog.Any("handler_error", out.err))
	t.observe(ctx, h.fence.ID, Event{Kind: EventUndecided, Generation: h.Generation, Err: cause})
	out.err = &Error{Status: 500, Code: CodeOutcomeUnknown, Cause: cause,
		Message: "Whether the request took effect could not be told. It is not run again."}
	out.answer, out.as = t.failureAnswer(ctx, out.err, FailureStore), FailureStore
}

// decide settles a COMMIT that failed. Only a fenced write that needs the
// row's lock can tell whether it stands: either the row is still this claim's,
// and the write takes the claim back, or it is completed. That it is seen to be
// does not say that it is durable, so that a further write confirms it: a COMMIT
// whose wait for a standby was cancelled stands on the primary alone.
func (t *transacted) decide(ctx context.Context, h *held, call Call, out *outcome, cause error) (Result, error) {
	limited, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	released, err := t.engine.ledger.Release(limited, h.fence)
	completed := false
	if err == nil && !released {
		if completed, err = t.engine.confirm(limited, h.fence); err == nil && !completed {
			// Where a standby took over in between, the row is this claim's again,
			// pending, and must not be left to its lease.
			released, err = t.engine.ledger.Release(limited, h.fence)
		}
	}
	if err == nil && released {
		failure := ledgerDown(cause)
		failure.Message = "The request took no effect, because it could not be committed. Retry with the same key."
		t.observe(ctx, h.fence.ID, Event{Kind: EventReleased, Generation: h.Generation, Status: failure.Status, Duration: out.took, Err: cause})
		return t.refused(ctx, h.fence.ID, failure)
	}
	if err != nil {
		t.observe(ctx, h.fence.ID, Event{Kind: EventUndecided, Generation: h.Generation, Err: cause})
		return t.refused(ctx, h.fence.ID, outcomeUnknown(errors.Join(cause, err)))
	}
	if completed {
		t.observe(ctx, h.fence.ID, Event{Kind: EventCompleted, Generation: h.Generation, Status: out.answer.Status, Duration: out.took})
		return Result{Answer: out.answer}, nil
	}
	return t.fencedOut(ctx, h, call, outcomeUnknown)
}
