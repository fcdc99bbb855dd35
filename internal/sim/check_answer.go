package sim

import (
	"errors"
	"slices"

	"github.com/idemgen/idemgen/runtime"
)

// documented are the refusals that a guard may give, see docs/problems.md.
var documented = map[string][]int{
	runtime.CodeKeyReused:         {422},
	runtime.CodeKeyInProgress:     {409},
	runtime.CodeKeyRetry:          {409},
	runtime.CodeKeyExpired:        {410},
	runtime.CodeLedgerUnavailable: {503},
	runtime.CodeOutcomeUnknown:    {503, 500},
}

// answered checks what a client was told.
func (c *checker) answered(e *Event, r *requestAccount) {
	switch {
	case e.Kind == Cut:
		if r.outcome != aborting && !r.exited {
			c.broken(Documented, "request %d was cut off by no handler", r.n)
		}
	case e.Err != nil:
		c.refused(e, r)
	case e.Replayed:
		c.replayed(e, r)
	case r.run == nil:
		c.broken(ClaimedRun, "request %d has an answer of its own but never ran", r.n)
	default:
		c.ownAnswer(e, r)
	}
}

func (c *checker) refused(e *Event, r *requestAccount) {
	var own *runtime.Error
	if !errors.As(e.Err, &own) || !slices.Contains(documented[own.Code], own.Status) {
		c.broken(Documented, "request %d was answered with %v", r.n, e.Err)
		return
	}
	// Who was refused for the sake of another must have met one, or have lost
	// its own claim to a sweep, after lease and retention.
	a := c.row(r.id)
	met, differs := len(r.claims) > 0 && !a.exists, false
	if c.queues {
		// It may have queued behind one that has not claimed anything yet.
		for _, other := range c.requests {
			met = met || other != r && other.id == r.id
		}
	}
	for _, n := range a.claims {
		met = met || n.request != r
		differs = differs || n.body != r.body
	}
	switch own.Code {
	case runtime.CodeKeyReused:
		if !differs {
			c.broken(SameRequest, "request %d was refused as a different one", r.n)
		}
	case runtime.CodeKeyInProgress, runtime.CodeKeyRetry, runtime.CodeKeyExpired:
		if !met && r.failures == 0 {
			c.broken(OwnPrincipal, "request %d was refused with %s, but no other had its key", r.n, own.Code)
		}
	case runtime.CodeLedgerUnavailable:
		if !c.transactions && r.run != nil {
			c.broken(HonestRefusal, "request %d was told that it was not run", r.n)
		}
	}
}

// replayed looks for the completion that the answer repeats.
func (c *checker) replayed(e *Event, r *requestAccount) {
	broken := ReplayEqual
	for _, done := range c.completions {
		switch {
		case done.lost, !equal(done.answer, e.Answer):
		case done.id != r.id:
			broken = OwnPrincipal
		case done.body != r.body:
			broken = SameRequest
		case done.until < 0 || done.until > r.sentAt:
			return
		}
	}
	c.broken(broken, "request %d was given an answer that is not its key's", r.n)
}

// ownAnswer checks the answer of a request that ran.
func (c *checker) ownAnswer(e *Event, r *requestAccount) {
	done, a := c.completionOf(r), c.row(r.id)
	switch {
	case done != nil:
		if !equal(done.answer, e.Answer) {
			c.broken(ReplayEqual, "request %d was answered otherwise than its replays will be", r.n)
		}
	case c.transactions && e.Answer.Status < 400:
		c.broken(Durable, "request %d was told of an effect that does not stand", r.n)
	case e.Code == "" && !r.hidden && c.becomes(r.outcome) == runtime.FailureStore:
		lost := !a.exists || a.owner.request != r
		if !r.completeFailed && !lost {
			c.broken(Durable, "request %d was answered before its answer was stored", r.n)
		}
	}
}

// becomes is what the policy makes of a claim whose run ended so.
func (c *checker) becomes(o outcome) runtime.Failure {
	switch o {
	case created, notFound, tooLarge, tooHeavy, commitCalled, commitSent, rollbackCalled, rollbackSent:
		return runtime.FailureStore
	case releasing, asking:
		return runtime.FailureRelease
	case holding, heldConflict:
		return runtime.FailureHold
	}
	return c.policy.Failure
}

// settled checks, when all is at rest, what became of a request that ran.
func (c *checker) settled(r *requestAccount) {
	done := c.completionOf(r)
	switch {
	case r.endedByHand:
		c.closed(r, done)
	case r.effect && (done == nil || done.step != r.effectStep):
		c.broken(Together, "the effect of request %d stands without its completion", r.n)
	}
	if c.transactions && done != nil && done.answer.Status < 400 && !r.effect {
		c.broken(Together, "request %d is completed without its effect", r.n)
	}
	// After retention nobody can tell any more.
	expired := done != nil && done.until >= 0 && done.until < r.repliedAt
	if r.reply == nil || !r.effect || expired || r.hidden {
		return
	}
	switch code := r.reply.Code; {
	case code == "", code == runtime.CodeOutcomeUnknown:
	case r.endedByHand && code != runtime.CodeLedgerUnavailable:
		// Its claim is another's by now, and it is told of that one.
	default:
		c.broken(HonestRefusal, "request %d was refused with %s, but its effect stands", r.n, code)
	}
}

// atRest checks that the engines have forgotten nothing: a run whose process
// lives leaves its claim pending only where that is the policy, or where it
// has said that it does not know.
func (c *checker) atRest(r *requestAccount) {
	a, own := c.row(r.id), r.refusal()
	switch {
	case r.died, r.hidden, r.revived, r.run == nil, c.becomes(r.outcome) == runtime.FailureHold:
	case own != nil && own.Code == runtime.CodeOutcomeUnknown:
	case a.exists && a.pending && a.owner.request == r && (a.owner == r.run || r.endedByHand || !r.insertFailed):
		c.broken(Durable, "the claim of request %d is still pending when all is at rest", r.n)
	}
}

// refusal is what the request was refused with, or nil.
func (r *requestAccount) refusal() (own *runtime.Error) {
	if r.reply != nil {
		errors.As(r.reply.Err, &own)
	}
	return own
}

// completionOf finds the answer that a request has stored.
func (c *checker) completionOf(r *requestAccount) *completion {
	for _, done := range c.completions {
		if done.request == r && !done.lost {
			return done
		}
	}
	return nil
}
