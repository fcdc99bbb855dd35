package sim

import (
	"bytes"
	"errors"

	"github.com/idemgen/idemgen/runtime"
)

// opened is a claim inside a transaction: nobody else sees it before that
// commits.
func (c *checker) opened(e *Event, r *requestAccount) {
	if r.id != e.Fence.ID {
		c.broken(OwnPrincipal, "request %d of %v claimed a row of %v", r.n, r.id, e.Fence.ID)
	}
	r.claims = append(r.claims, &claim{request: r, fence: e.Fence, fencing: e.Fencing, body: r.body, opened: e,
		leasing: leasing{e.At, e.Terms.Lease, e.Jumps}})
}

// committed is the claim that a transaction has committed.
func (c *checker) committed(e *Event, r *requestAccount) *claim {
	for _, n := range r.claims {
		if n.opened != nil && !n.stood && n.fence == e.Fence && n.fencing == e.Fencing {
			n.stood, n.stoodAt = true, c.at
			return n
		}
	}
	c.broken(CurrentOwner, "request %d committed a claim that it had not made", r.n)
	return &claim{request: r, fence: e.Fence, fencing: e.Fencing, body: r.body, opened: e}
}

// runsAgain checks a run after the first: the work met another transaction,
// its retries are not used up, and nothing of its last run stands or may yet.
func (c *checker) runsAgain(e *Event, r *requestAccount) {
	switch {
	case !r.conflict:
		c.broken(ClaimedRun, "request %d runs again, but met no other transaction", r.n)
	case r.runs > c.policy.Retry:
		c.broken(ClaimedRun, "request %d runs for the %dth time", r.n, r.runs+1)
	case r.conflictAt >= r.deadline:
		c.broken(ClaimedRun, "request %d runs again after its time was up", r.n)
	case r.endedByHand:
		c.broken(ClaimedRun, "request %d runs again after its handler ended its transaction", r.n)
	case r.effect, e.Open > 0:
		c.broken(Together, "request %d runs again, but its last run was not rolled back", r.n)
	}
}

// effect checks an effect that stands. A handler that ended its transaction
// has cut its effect off from its row: after the lease, or a death, another may
// come to have one too. No request ever has two.
func (c *checker) effect(e *Event, r *requestAccount) {
	a := c.row(e.Fence.ID)
	if a.effects++; r.effect || a.effects > 1 && !a.loose && !e.ByHand {
		c.broken(Together, "a second effect stands in one life of the row")
	}
	if r.outcome != created && r.outcome != notFound && !e.ByHand {
		c.broken(Together, "the effect of request %d stands, whose run ended as %s", r.n, r.outcome)
	}
	a.loose = a.loose || e.ByHand
	r.effect, r.effectAt, r.effectStep = true, c.at, e.Step
}

// closed checks what became of a request whose handler ended its transaction:
// its key is closed with an answer that says so. Only when the ledger lost the
// connection before it could know does the handler's word stand.
func (c *checker) closed(r *requestAccount, done *completion) {
	if !r.hidden && done != nil && !unknown(done.answer) {
		c.broken(Together, "request %d is completed with %d, although its handler ended the transaction", r.n, done.answer.Status)
	}
	if !r.hidden && !r.died && done == nil && !c.disturbed(r) {
		c.broken(Durable, "the key of request %d was not closed, although its handler ended the transaction", r.n)
	}
}

// disturbed says whether anything came between the end by hand and the answer:
// a statement that failed for another reason, or another claim of the key.
func (c *checker) disturbed(r *requestAccount) bool {
	for i := r.endedAt; i < r.repliedAt; i++ {
		e := &c.history[i]
		switch {
		case e.Kind == Failed && e.Request == r.n && !errors.Is(e.Err, runtime.ErrTxEnded):
			return true
		case e.Request != r.n && e.Fence.ID == r.id && e.Kind != Sent && e.Kind != RunBegan:
			return true
		}
	}
	return false
}

// unknown is the answer that closes the key of such a request.
func unknown(a runtime.StoredAnswer) bool {
	return a.Status == 500 && bytes.Contains(a.Body, []byte(runtime.CodeOutcomeUnknown))
}

// letGo checks a claim that its owner gives up: no effect may stand in its
// name alone. One that was completed is of an earlier life.
func (c *checker) letGo(e *Event, r *requestAccount) {
	if r.effect && !r.hidden && c.completionOf(r) == nil {
		c.broken(Together, "%s by request %d, whose effect stands", e.Kind, r.n)
	}
}
