package runtime

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"
)

// A ledger that fails after the effect holds the caller no longer.
const settleLimit = 2 * time.Second

// settle records the outcome under the fence and returns what the caller gets.
// The answer has not been sent yet; ctx is not cancelled.
func (g *Guard) settle(ctx context.Context, h *held, call Call, out *outcome) (Result, error) {
	g.logFailure(ctx, h, out)
	result := Result{Answer: out.answer, Err: out.err}
	switch out.as {
	case FailureHold:
		g.observe(ctx, h.fence.ID, Event{Kind: EventHeld, Generation: h.Generation, Status: out.answer.Status, Duration: out.took, Err: out.err})
		return result, nil
	case FailureRelease:
		done := Event{Kind: EventReleased, Generation: h.Generation, Status: out.answer.Status, Duration: out.took, Err: out.err}
		stands, err := g.release(ctx, h.fence, done)
		if err == nil && !stands {
			return g.fencedOut(ctx, h, call, outcomeUnknown)
		}
		return result, nil
	}
	stored, fits := g.store(out.answer)
	if !fits {
		g.logTooLarge(ctx, h)
		result.Answer = g.tooLarge()
	}
	done := Event{Kind: EventCompleted, Generation: h.Generation, Status: result.Answer.Status, Duration: out.took, Err: out.err}
	stands, replaced, err := g.complete(ctx, h, stored, done)
	if replaced {
		result.Answer = g.tooLarge()
	}
	if err == nil && !stands {
		if failed(out.answer.Status) {
			return g.fencedOut(ctx, h, call, outcomeUnknown)
		}
		g.logFencedOut(ctx, h)
	}
	return result, nil
}

// complete stores an answer, if need be in the background; done is observed
// when it is stored, and not before. replaced says that an error answer stands
// in its place, or will.
func (g *Guard) complete(ctx context.Context, h *held, stored StoredAnswer, done Event) (stands, replaced bool, err error) {
	limited := &deadline{Context: ctx, at: time.Now().Add(settleLimit)}
	defer limited.end()
	a := &answering{Completion: Completion{Fence: h.fence, Terms: g.terms, Answer: stored}, done: done}
	stands, err = g.keepOrReplace(limited, a)
	replaced = a.replaced
	if err != nil {
		g.later(ctx, h.fence, len(stored.Headers)+len(stored.Body), err, func(ctx context.Context) (bool, error) { return g.keepOrReplace(ctx, a) })
	}
	return stands, replaced, err
}

// answering is a completion that is tried until it is stored.
type answering struct {
	Completion
	done     Event
	replaced bool // the sentinel may be stored already, so that nothing else is
	sealing  sealing
	sentinel sealing
}

// keepOrReplace makes one attempt to store an answer or, where the ledger can
// never store these very bytes (a packet limit, say), the sentinel, so that the
// key is not wedged and the effect not repeated. A ledger that refuses the
// sentinel, too, does so for another reason than these bytes, which may pass.
func (g *Guard) keepOrReplace(ctx context.Context, a *answering) (stands bool, err error) {
	if !a.replaced {
		stands, err = g.keep(ctx, a.Completion, &a.sealing)
	}
	refusal := err
	if a.replaced || errors.Is(refusal, ErrRefused) {
		stands, err = g.keep(ctx, g.sentinel(a.Completion), &a.sentinel)
		if a.replaced = !errors.Is(err, ErrRefused); !a.replaced {
			return false, errors.Join(refusal, err)
		}
		if refusal != nil {
			g.logRefused(ctx, a.ID, refusal)
		}
	}
	done := a.done
	if a.replaced {
		done.Status = http.StatusInternalServerError
	}
	if stands && err == nil {
		g.observe(ctx, a.ID, done)
	}
	return stands, err
}

// keep seals an answer and stores it.
func (g *Guard) keep(ctx context.Context, c Completion, x *sealing) (bool, error) {
	var err error
	if c.Answer, err = x.seal(ctx, &g.engine.settings, c.Fence, c.Answer); err != nil {
		return false, err
	}
	return g.engine.ledger.Complete(ctx, c)
}

// sentinel is a completion with the error that stands for an answer.
func (g *Guard) sentinel(c Completion) Completion {
	c.Answer, _ = g.store(g.tooLarge())
	return c
}

func (g *Guard) logRefused(ctx context.Context, id ID, err error) {
	g.log(ctx, slog.LevelError, id, "the ledger refused the answer; an error answer stands in its place", slog.Any("error", err))
}

// release deletes a claim, within settleLimit for the caller, then in the
// background; done is observed when it is deleted.
func (g *Guard) release(ctx context.Context, f Fence, done Event) (bool, error) {
	again := false
	attempt := func(ctx context.Context) (bool, error) {
		stands, err := g.engine.ledger.Release(ctx, f)
		if err == nil && !stands && again {
			// An attempt whose answer was lost may have deleted the row.
			_, found, readErr := g.engine.ledger.Read(ctx, f.ID)
			stands, err = !found && readErr == nil, readErr
		}
		if stands && err == nil {
			g.observe(ctx, f.ID, done)
		}
		again = true
		return stands, err
	}
	limited, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	stands, err := attempt(limited)
	if err != nil {
		g.later(ctx, f, 0, err, attempt)
	}
	return stands, err
}

// later repeats a fenced write in the background until the ledger answers. size
// is that of the answer in it.
func (g *Guard) later(ctx context.Context, f Fence, size int, cause error, attempt func(context.Context) (bool, error)) {
	g.log(ctx, slog.LevelError, f.ID, "the ledger failed after the handler ran; retrying in the background", slog.Any("error", cause))
	g.engine.mender.add(&mending{guard: g, fence: f, owed: true, bytes: size, err: cause, attempt: func(ctx context.Context) error {
		stands, err := attempt(ctx)
		if err == nil && !stands {
			g.observe(ctx, f.ID, Event{Kind: EventFencedOut, Generation: f.Generation})
		}
		return err
	}})
}

// gaveUp tells of a write that nobody repeats any more.
func (g *Guard) gaveUp(ctx context.Context, f Fence, err error) {
	g.log(ctx, slog.LevelError, f.ID, "a write that was retried in the background was given up; the key is pending until its lease ends, and may then run again",
		slog.Int64("generation", f.Generation), slog.Any("error", err))
	g.observe(ctx, f.ID, Event{Kind: EventGaveUp, Generation: f.Generation, Err: err})
}

// store is the answer as the ledger keeps it, or the sentinel when it is
// larger than the policy allows.
func (g *Guard) store(a Answer) (stored StoredAnswer, fits bool) {
	headers := a.Header.Encode()
	if int64(len(headers))+int64(len(a.Body)) > g.policy.ResponseMax {
		a, fits = g.tooLarge(), false
		headers = a.Header.Encode()
	} else {
		fits = true
	}
	body := a.Body
	if body == nil {
		body = []byte{}
	}
	return StoredAnswer{Status: a.Status, Headers: headers, Body: body}, fits
}

// tooLarge is the sentinel: what is stored for an answer that cannot be. It is
// the same for whoever asks, so that it may be made more than once.
func (g *Guard) tooLarge() Answer {
	return g.failureAnswer(context.Background(), &Error{Status: 500, Code: CodeResponseTooLarge,
		Message: "The answer to this request is too large to be kept and replayed."}, FailureStore)
}

// fencedOut answers a caller whose claim was lost from the row that stands.
// unread is the answer when the ledger cannot be read: of work that ran it
// must not say that nothing did.
func (g *Guard) fencedOut(ctx context.Context, h *held, call Call, unread func(error) *Error) (Result, error) {
	g.logFencedOut(ctx, h)
	return g.fromRow(ctx, h.fence.ID, call, unread)
}

// fromRow answers from the row that holds the key.
func (g *Guard) fromRow(ctx context.Context, id ID, call Call, unread func(error) *Error) (Result, error) {
	result, found, err := g.lookup(ctx, call, unread)
	if !found {
		return g.refused(ctx, id, retryKey(nil))
	}
	return result, err
}

func (g *Guard) logFencedOut(ctx context.Context, h *held) {
	g.log(ctx, slog.LevelWarn, h.fence.ID, "claim lost: another request took the key over", slog.Int64("generation", h.Generation))
	g.observe(ctx, h.fence.ID, Event{Kind: EventFencedOut, Generation: h.Generation})
}

func (g *Guard) logTooLarge(ctx context.Context, h *held) {
	g.log(ctx, slog.LevelError, h.fence.ID, "the answer is too large to be kept; an error answer stands in its place",
		slog.Int64("max_bytes", g.policy.ResponseMax))
}

// logFailure logs the error behind an answer whose text does not tell it.
func (g *Guard) logFailure(ctx context.Context, h *held, out *outcome) {
	if out.err == nil || out.answer.Status < 500 || out.abort {
		return
	}
	attrs := []slog.Attr{slog.Int("status", out.answer.Status), slog.String("claim", string(out.as)), slog.Any("error", out.err)}
	var wrapped statusError
	if _, classified := statusOf(out.err); !classified && errors.As(out.err, &wrapped) {
		// Meant for the caller, perhaps, or the answer of a peer.
		attrs = append(attrs, slog.Int("wrapped_status", wrapped.HTTPStatus()))
	}
	g.log(ctx, slog.LevelError, h.fence.ID, "handler failed", attrs...)
}
