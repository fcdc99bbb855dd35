package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/boundary"
)

// Do runs fn at most once per claim of the call's key. It returns the work's
// answer, or the stored one when the work has been done. The error is an
// [*Error] that says why neither can be had; fn has then not run in this call,
// unless its code is CodeOutcomeUnknown or the claim was lost to another.
//
// fn's context is not cancelled when ctx is; it ends at the policy's timeout.
// Whatever fn returns beside a nil error is its answer. With an error, the
// answer is the one given, or rendered from the error when its Status is not
// that of an error.
// A panic of fn counts as an error; http.ErrAbortHandler is passed on after
// the claim is settled.
func (g *Guard) Do(ctx context.Context, call Call, fn func(context.Context) (Answer, error)) (Result, error) {
	if err := cmp.Or(g.policy.outsideTx(), call.complete()); err != nil {
		return Result{}, err
	}
	return g.do(ctx, call, plan{work: workFunc(fn)})
}

// plan is how one request goes about its key.
type plan struct {
	// work is run and settled by itself.
	work worker
	// prepare makes the execution of a claim that was won, where there is more
	// to it.
	prepare func(context.Context, *held) (execution, error)
	// open claims an absent key inside a transaction, and close rolls that
	// back before any work ran. Where they are nil, claims commit by
	// themselves.
	open  func(context.Context, Claim) (Claimed, bool, error)
	close func(context.Context)
}

// execution is how work runs once its key is claimed.
type execution struct {
	work   worker
	settle func(context.Context, *held, Call, *outcome) (Result, error) // nil: [Guard.settle]
	// abandon rolls back what settle has left open; nil where there is no
	// transaction.
	abandon func(context.Context)
}

// end settles an execution.
func (e *execution) end(g *Guard, ctx context.Context, h *held, call Call, out *outcome) (Result, error) {
	if e.settle != nil {
		return e.settle(ctx, h, call, out)
	}
	return g.settle(ctx, h, call, out)
}

// errClaimLost says that another request had taken the key over before the
// work began.
var errClaimLost = errors.New("idemgen: the claim was lost before the work began")

// do claims, prepares, runs and settles.
func (g *Guard) do(ctx context.Context, call Call, p plan) (Result, error) {
	id, err := g.id(call)
	if err != nil {
		return g.refused(ctx, id, err)
	}
	leave, err := g.engine.admit(id.Principal)
	if err != nil {
		return g.refused(ctx, id, err)
	}
	defer leave()
	if call.exchange == nil {
		call.exchange = &exchange{}
	}
	// Nobody's transaction, gate or row waits for an observer or a log.
	told := &notes{}
	defer told.flush()
	if p.open != nil {
		ctx = told.under(ctx)
		leave, entered := g.engine.gates.enter(ctx, id, g.policy.Lease)
		if !entered {
			return g.refused(ctx, id, inProgress(time.Second))
		}
		defer leave()
	}
	start := g.stopwatch()
	steady := context.WithoutCancel(ctx)
	h, result, err := g.claim(steady, id, call, p)
	if g.policy.Wait > 0 && waits(err) {
		h, result, err = g.await(ctx, id, call, err, func() (*held, Result, error) {
			start = g.stopwatch()
			return g.claim(steady, id, call, p)
		})
	}
	if h == nil {
		return g.answered(ctx, id, result, err)
	}
	defer g.engine.waiters.wake(id)
	g.claimed(ctx, h, g.since(start))
	defer g.credit(g.policy.Sweep)
	g.reachClaim(steady, h, p)
	if !h.open && time.Since(h.sent) >= min(g.policy.Timeout, g.policy.Lease) {
		// An observer has taken all the time that the handler had.
		g.giveBack(steady, h)
		return g.refused(ctx, id, ledgerDown(errClaimLate))
	}

	e := execution{work: p.work}
	if p.prepare != nil {
		e, err = p.prepare(steady, h)
	}
	switch {
	case errors.Is(err, errClaimLost):
		return g.fencedOut(ctx, h, call, claimFailed)
	case err != nil:
		g.giveBack(steady, h)
		return g.refused(ctx, id, claimFailed(err))
	}

	steady = told.under(steady)
	out := &call.exchange.outcome
	ran, ended := false, false
	defer func() {
		if ran && !ended && !errors.Is(out.err, errUnfinished) && e.abandon != nil {
			// The ledger panicked. What it says now is no matter.
			_ = guardedCall("the ledger", func() error { e.abandon(steady); return nil })
			return
		}
		// runtime.Goexit unwinds past here without returning from run, or from
		// work that runs again while it is settled.
		if !ran || !ended && errors.Is(out.err, errUnfinished) {
			e.end(g, steady, h, call, out)
		}
	}()
	boundary.Reach(steady, boundary.BeforeHandler)
	g.run(steady, h, out, e.work)
	ran = true
	g.reachOutcome(steady, h, &e)
	result, err = e.end(g, steady, h, call, out)
	ended = true
	g.pace.note(time.Since(h.sent))
	if out.abort {
		panic(http.ErrAbortHandler)
	}
	return result, err
}

// Lookup answers from the row that holds the call's key without claiming it:
// found is true when a live row, or one before its gone_at, decides the call,
// and the result or error is then what [Guard.Do] would give.
func (g *Guard) Lookup(ctx context.Context, call Call) (result Result, found bool, err error) {
	if err := call.complete(); err != nil {
		return Result{}, true, err
	}
	return g.lookup(ctx, call, claimFailed)
}

// lookup is Lookup; unread is the answer when the ledger cannot be read.
func (g *Guard) lookup(ctx context.Context, call Call, unread func(error) *Error) (result Result, found bool, err error) {
	id, err := g.id(call)
	if err != nil {
		result, err = g.refused(ctx, id, err)
		return result, true, err
	}
	row, found, err := g.engine.ledger.Read(context.WithoutCancel(ctx), id)
	if err != nil {
		result, err = g.refused(ctx, id, unread(err))
		return result, true, err
	}
	if !found {
		return Result{}, false, nil
	}
	v, result, err := g.decide(ctx, id, call, &row)
	switch v {
	case reusable:
		return Result{}, false, nil
	case stale:
		result, err = g.refused(ctx, id, inProgress(time.Second))
	default:
		result, err = g.answered(ctx, id, result, err)
	}
	return result, true, err
}

// answered reports a call that was answered without running.
func (g *Guard) answered(ctx context.Context, id ID, result Result, err error) (Result, error) {
	if err != nil {
		return g.refused(ctx, id, err)
	}
	g.observe(ctx, id, Event{Kind: EventReplayed, Status: result.Answer.Status})
	return result, nil
}

func (g *Guard) refused(ctx context.Context, id ID, err error) (Result, error) {
	status, _ := statusOf(err)
	event := Event{Kind: EventRefused, Status: status, Err: err}
	own, _ := err.(*Error)
	if own != nil {
		event.Code = own.Code
	}
	g.observe(ctx, id, event)
	switch {
	case status >= 500:
		g.log(ctx, slog.LevelError, id, "request refused", slog.String("code", event.Code), slog.Any("error", err))
	case own != nil && own.Cause != nil:
		// The caller is not told why.
		g.log(ctx, slog.LevelInfo, id, "request refused", slog.String("code", event.Code), slog.Any("cause", own.Cause))
	}
	return Result{}, err
}

func (g *Guard) claimed(ctx context.Context, h *held, took time.Duration) {
	kind := EventClaimed
	if !h.fresh {
		kind = EventTakenOver
		g.log(ctx, slog.LevelWarn, h.fence.ID, "claim taken over, its lease was over", slog.Int64("generation", h.Generation))
	}
	g.observe(ctx, h.fence.ID, Event{Kind: kind, Generation: h.Generation, Duration: took})
}

// outcome is how the work ended.
type outcome struct {
	answer Answer
	err    error
	abort  bool // by http.ErrAbortHandler
	// conflict says that its transaction met another one: nothing of it stands.
	conflict bool
	as       Failure
	took     time.Duration
}

// errUnfinished is the outcome of work that neither returned nor panicked.
var errUnfinished = errors.New("idemgen: the handler's goroutine ended")

// run calls fn under its deadline and records how it ended. ctx is not
// cancelled.
func (g *Guard) run(ctx context.Context, h *held, out *outcome, fn worker) {
	start := g.stopwatch()
	w := &watched{guard: g, start: start}
	w.limit.Context, w.limit.at = ctx, h.sent.Add(g.policy.Timeout)
	w.running = running{Context: &w.limit, id: h.fence.ID, generation: h.Generation, fencing: h.ClaimedAt}
	defer w.limit.end()
	if g.policy.Renew {
		defer g.engine.renewer.add(g, h, &w.limit)()
	}
	g.engine.overdue.watch(w)
	returned := false
	defer func() {
		g.engine.overdue.forget(w)
		if !returned {
			out.answer, out.err = Answer{}, errUnfinished
			if p := recover(); p != nil {
				out.err = panicked("the handler", p)
				out.abort = p == http.ErrAbortHandler
				if !out.abort {
					g.log(ctx, slog.LevelError, h.fence.ID, "handler panicked", slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
				}
			}
		}
		out.took = g.since(start)
		g.classify(out, &w.running)
	}()
	out.answer, out.err = fn.run(&w.running)
	out.err = tame(out.err)
	returned = true
}

// classify gives a failed outcome its answer and says what becomes of the
// claim.
func (g *Guard) classify(out *outcome, info *running) {
	answer, err := out.answer.checked()
	if out.err == nil {
		out.err = err
	} else if err != nil {
		g.log(notedBy(info), slog.LevelError, info.id, "the answer that the handler gave beside its error is left out", slog.Any("error", err))
	}
	out.answer = answer
	// An answer of success beside an error would be kept as final, although
	// nothing says that the work was done.
	rendered := out.err != nil && out.answer.Status < 400
	if rendered {
		out.answer.Status, _ = statusOf(out.err)
	}
	out.as = FailureStore
	if failed(out.answer.Status) {
		out.as = g.policy.Failure
	}
	if out.as == FailureStore && invites(out) {
		out.as = FailureRelease
	}
	if out.err != nil {
		var marked *disposedError
		if errors.As(out.err, &marked) {
			out.as = marked.as
		}
	}
	if asked := info.disposed.Load(); asked != nil {
		out.as = *asked
	}
	if rendered {
		// What the caller should do next depends on what becomes of the claim.
		out.answer = g.failureAnswer(info, out.err, out.as)
	}
}

// invites reports whether an outcome asks the client itself to try again later:
// to keep such an answer would refuse the very retry that it asks for.
func invites(out *outcome) bool {
	if !mayInvite(out.answer.Status) {
		return false
	}
	decides, _, _ := deciding(out.err)
	own, ok := decides.(*Error)
	return out.answer.Header.Get("Retry-After") != "" || ok && own.RetryAfter > 0
}

// mayInvite reports whether a status, with a Retry-After, says to try again
// (RFC 9110, section 15.5.9 and 15.6.4; RFC 6585, section 4; RFC 8470, section
// 5.2).
func mayInvite(status int) bool {
	return status == 503 || status < 500 && failed(status)
}

// failed reports whether a status is a failure and not a result.
func failed(status int) bool {
	return status >= 500 || status == 408 || status == 425 || status == 429
}
