package sim

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// checker follows a history and holds each event against the invariants. It
// keeps its own account of every row, made of what was promised when the row
// changed, and believes no column.
type checker struct {
	policy       runtime.Policy
	transactions bool
	queues       bool // of requests, before their claims
	rows         map[runtime.ID]*account
	requests     map[int]*requestAccount
	completions  []*completion
	violations   []Violation
	history      []Event
	at           int // the event that is looked at

	saved map[runtime.ID]account // the standby's, while it is cut off
	cutAt int                    // index in the history of that
}

// account is a row.
type account struct {
	exists     bool
	owner      *claim
	pending    bool
	leaseUntil int64
	expires    int64
	gone       int64
	fencing    int64
	completion *completion // of this life
	effects    int         // of this life
	loose      bool        // one of them is a handler's that ended its transaction
	claims     []*claim    // all that were ever won, of this key
}

// leasing is the last start of a claim's lease.
type leasing struct {
	leasedAt time.Duration // virtual time
	lease    time.Duration
	jumps    int // of the ledger's clock, then
}

// claim is one claim that was won.
type claim struct {
	request *requestAccount
	fence   runtime.Fence
	fencing int64
	body    int // of the request that claimed the row first
	leasing
	saved   leasing // what the standby has, while it is cut off
	ran     bool
	wonAt   int    // index in the history
	opened  *Event // in a transaction; nil: the claim stood at once
	stood   bool   // that transaction has committed
	stoodAt int    // index in the history
}

// requestAccount is a request and its run.
type requestAccount struct {
	n         int
	id        runtime.ID
	body      int
	sentAt    int // index in the history
	claims    []*claim
	run       *claim // under which it ran
	outcome   outcome
	reply     *Event
	repliedAt int
	failures  int // statements
	// completeFailed: the ledger gave an error for its completion.
	completeFailed bool
	insertFailed   bool // and may have been executed all the same, later
	effect         bool
	effectAt       int // index in the history
	effectStep     int
	runs           int
	exited         bool // a run ended the request's goroutine
	conflict       bool // since the last run began
	conflictAt     time.Duration
	deadline       time.Duration // of the last run
	endedByHand    bool
	endedAt        int  // index in the history
	hidden         bool // the end by hand
	died           bool
	releasedAt     int // index in the history
	revived        bool
}

// completion is an answer that stood.
type completion struct {
	request *requestAccount
	id      runtime.ID
	body    int  // of the request
	at      int  // index in the history
	lost    bool // in a failover
	step    int
	answer  runtime.StoredAnswer
	until   int // index in the history of its end; -1: it stands
}

// check returns what a world's history breaks.
func check(w *world) []Violation {
	c := &checker{policy: w.policy, transactions: w.mode.transactions(), queues: w.mode == Once || w.mixed, history: w.history,
		rows: map[runtime.ID]*account{}, requests: map[int]*requestAccount{}}
	for i := range c.history {
		c.at = i
		c.event(&c.history[i])
	}
	for n := 1; c.requests[n] != nil; n++ {
		c.settled(c.requests[n])
	}
	return c.violations
}

// broken notes a violation at the current event.
func (c *checker) broken(i Invariant, format string, args ...any) {
	var lines strings.Builder
	for _, e := range c.history[:min(c.at+1, len(c.history))] {
		fmt.Fprintln(&lines, e)
	}
	c.violations = append(c.violations, Violation{Invariant: i, Message: fmt.Sprintf(format, args...), History: lines.String()})
}

func (c *checker) event(e *Event) {
	r := c.requests[e.Request]
	switch e.Kind {
	case Sent:
		c.requests[e.Request] = &requestAccount{n: e.Request, id: e.Fence.ID, body: e.Body, sentAt: c.at}
	case Inserted, TakenOver, Reused:
		c.claimed(e, r)
	case Renewed, LeaseEnded, Released, Completed:
		c.owned(e, r)
	case Dropped, Deleted:
		c.swept(e)
	case Effect:
		c.effect(e, r)
	case Opened:
		c.opened(e, r)
	case Conflict:
		r.conflict, r.conflictAt = true, e.At
	case EndedByHand:
		r.endedByHand, r.endedAt = true, c.at
	case Hidden:
		r.hidden = true
	case RunBegan:
		c.runBegan(e, r)
	case RunEnded:
		r.outcome = e.Outcome
		r.exited = r.exited || e.Outcome == exiting
	case Failed, Repeated:
		if r != nil {
			r.failures++
			r.completeFailed = r.completeFailed || e.Kind == Failed && e.Text == "complete"
			r.insertFailed = r.insertFailed || e.Kind == Failed && e.Text == "insert"
		}
	case Answered, Cut:
		r.reply, r.repliedAt = e, c.at
		c.answered(e, r)
	case CutOff:
		c.cutOff()
	case FailedOver:
		c.failedOver()
	case Died:
		r.died = true
	case AtRest:
		for n := 1; c.requests[n] != nil; n++ {
			c.atRest(c.requests[n])
		}
	case Unanswered:
		c.broken(Documented, "request %d has no answer", e.Request)
	case Unsettled:
		c.broken(Documented, "an engine did not come to rest: %v", e.Err)
	}
}

func (c *checker) row(id runtime.ID) *account {
	a := c.rows[id]
	if a == nil {
		a = &account{}
		c.rows[id] = a
	}
	return a
}

// over is whether the promise of a row has ended.
func (a *account) over(clock int64) bool {
	return a.expires <= clock && (!a.pending || a.leaseUntil <= clock)
}

// forget ends a row's life, or its answer's.
func (c *checker) forget(a *account) {
	if a.completion != nil && a.completion.until < 0 {
		a.completion.until = c.at
	}
}

func (c *checker) claimed(e *Event, r *requestAccount) {
	a := c.row(e.Fence.ID)
	if r.id != e.Fence.ID {
		c.broken(OwnPrincipal, "request %d of %v claimed a row of %v", r.n, r.id, e.Fence.ID)
	}
	n := &claim{request: r, fence: e.Fence, fencing: e.Fencing, body: r.body, wonAt: c.at}
	leased := e
	if e.Text == atCommit {
		n = c.committed(e, r)
		leased = n.opened
	} else {
		r.claims = append(r.claims, n)
	}
	switch e.Kind {
	case Inserted:
		if a.exists {
			c.broken(Kept, "inserted in the place of a row that stood")
		}
		*a = account{exists: true, claims: a.claims}
	case TakenOver:
		if !a.exists || !a.pending || a.leaseUntil > e.Clock {
			c.broken(LiveLease, "taken over from a claim whose lease was alive, or from none")
		}
		if a.owner != nil {
			n.body = a.owner.body
		}
	case Reused:
		if !a.exists || !a.over(e.Clock) || a.gone > e.Clock {
			c.broken(Kept, "reused before it was over")
		}
		c.forget(a)
		*a = account{exists: true, claims: a.claims, fencing: a.fencing}
	}
	if n.fencing <= a.fencing {
		c.broken(FencingGrows, "fencing number %d after %d", n.fencing, a.fencing)
	}
	for _, other := range e.Alive {
		// A jump of the ledger's clock ends leases before their time, and a claim
		// that was not committed ends with its transaction.
		if run := c.requests[other].run; other != r.n && run.jumps == e.Jumps && (run.opened == nil || run.stood) {
			c.broken(LiveOwner, "request %d has the claim while the run of request %d has not been told to stop", r.n, other)
		}
	}
	a.owner, a.pending, a.fencing = n, true, n.fencing
	a.claims = append(a.claims, n)
	c.lease(a, leased)
}

// lease starts a lease.
func (c *checker) lease(a *account, e *Event) {
	a.leaseUntil = e.Clock + e.Terms.Lease.Milliseconds()
	a.expires = a.leaseUntil + e.Terms.Retain.Milliseconds()
	a.gone = a.expires + e.Terms.Gone.Milliseconds()
	a.owner.leasing = leasing{e.At, e.Terms.Lease, e.Jumps}
}

// owned is a change that only the owner of a pending row may make.
func (c *checker) owned(e *Event, r *requestAccount) {
	a := c.row(e.Fence.ID)
	switch {
	case a.exists && e.Kind == Completed && a.completion != nil:
		c.broken(OneCompletion, "a second completion in one life of the row, by request %d", r.n)
	case !a.exists || !a.pending || a.owner.fence != e.Fence:
		c.broken(CurrentOwner, "%s by request %d, which does not own the row", e.Kind, r.n)
	}
	if a.owner == nil {
		return
	}
	switch e.Kind {
	case Renewed:
		c.lease(a, e)
	case LeaseEnded:
		c.letGo(e, r)
		a.leaseUntil = min(a.leaseUntil, e.Clock)
	case Released:
		c.letGo(e, r)
		c.released(r)
		r.releasedAt = c.at
		c.forget(a)
		a.exists = false
	case Completed:
		c.stored(e, r)
		c.forget(a)
		a.pending = false
		a.expires = e.Clock + e.Terms.Retain.Milliseconds()
		a.gone = a.expires + e.Terms.Gone.Milliseconds()
		a.completion = &completion{request: r, id: e.Fence.ID, body: r.body, at: c.at, step: e.Step, answer: e.Answer, until: -1}
		c.completions = append(c.completions, a.completion)
	}
}

func (c *checker) swept(e *Event) {
	a := c.row(e.Fence.ID)
	if !a.exists || !a.over(e.Clock) || e.Kind == Deleted && a.gone > e.Clock {
		c.broken(Kept, "%s before it was over", e.Kind)
	}
	c.forget(a)
	if e.Kind == Deleted {
		a.exists = false
	}
}

func (c *checker) runBegan(e *Event, r *requestAccount) {
	if e.Fence.ID != r.id {
		c.broken(OwnPrincipal, "request %d of %v ran as %v", r.n, r.id, e.Fence.ID)
	}
	for _, n := range r.claims {
		if n.fence.Generation == e.Fence.Generation && n.fencing == e.Fencing {
			r.run = n
		}
	}
	if r.runs > 0 {
		c.runsAgain(e, r)
	}
	again := r.runs > 0 && r.run != nil && r.run.opened == nil
	switch {
	case r.run == nil || r.run.ran && !again:
		c.broken(ClaimedRun, "request %d runs without a claim of its own", r.n)
		return
	case r.run.body != r.body:
		c.broken(SameRequest, "request %d runs under the claim of a different one", r.n)
	case !c.policy.Renew && e.Deadline > r.run.leasedAt+r.run.lease:
		c.broken(LiveOwner, "the run's deadline lies behind its lease")
	}
	r.run.ran, r.conflict, r.deadline = true, false, e.Deadline
	r.runs++
}

// equal compares answers byte for byte.
func equal(a, b runtime.StoredAnswer) bool {
	return a.Status == b.Status && bytes.Equal(a.Headers, b.Headers) && bytes.Equal(a.Body, b.Body)
}
