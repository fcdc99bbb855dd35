package runtime

import (
	"container/heap"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// ErrLeaseLost is the cause (context.Cause) with which a handler's context is
// cancelled when its lease could not be renewed: another request may take its
// key over. Whether the handler's completion stands is decided by the fence
// alone.
var ErrLeaseLost = errors.New("idemgen: the lease of the claim could not be renewed")

// renewer extends the leases of all running handlers of an engine that asked
// for it, with one timer. Nothing of the user's runs under its lock: one
// handler's slow observer must not cost another its lease. Safe for concurrent
// use.
type renewer struct {
	mu    sync.Mutex
	queue renewals
	timer *time.Timer
}

// renewal is one running handler.
type renewal struct {
	guard *Guard
	fence Fence
	limit *deadline // of the handler
	until time.Time // the handler's own deadline, with which renewing ends

	// All below belongs to the renewer's lock.
	sent    time.Time // of the last renewal that succeeded
	due     time.Time // when to look at it next
	asking  bool      // a renewal is on its way
	stopped bool
	index   int
}

// lost is when the handler must stop: a margin before the lease, counted from
// the last successful renewal's send, can run out.
func (r *renewal) lost() time.Time {
	lease := r.guard.policy.Lease
	return r.sent.Add(lease - max(lease/10, 500*time.Millisecond))
}

// add renews a claim until its handler's time is over or the function that it
// returns is called.
func (n *renewer) add(g *Guard, h *held, limit *deadline) (stop func()) {
	r := &renewal{guard: g, fence: h.fence, limit: limit, until: limit.at, sent: h.sent}
	limit.lease(r.lost())
	n.mu.Lock()
	defer n.mu.Unlock()
	r.due = r.sent.Add(g.policy.Lease / 3)
	heap.Push(&n.queue, r)
	n.arm()
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.drop(r)
		n.arm()
	}
}

// drop forgets a renewal. It reports whether that was not done before.
func (n *renewer) drop(r *renewal) bool {
	if r.stopped {
		return false
	}
	r.stopped = true
	heap.Remove(&n.queue, r.index)
	return true
}

// arm sets the timer to the next renewal that is due.
func (n *renewer) arm() {
	if len(n.queue) == 0 {
		if n.timer != nil {
			n.timer.Stop()
		}
		return
	}
	wait := time.Until(n.queue[0].due)
	if n.timer == nil {
		n.timer = time.AfterFunc(wait, n.fire)
		return
	}
	n.timer.Reset(wait)
}

// fire looks at everything that is due.
func (n *renewer) fire() {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	for len(n.queue) > 0 && !n.queue[0].due.After(now) {
		r := n.queue[0]
		switch {
		case !r.until.After(now):
			// The handler's time is over: from here on its lease runs out, as
			// that of any other handler which passes its deadline.
			n.drop(r)
		case !r.lost().After(now):
			n.drop(r)
			go r.giveUp()
		default:
			r.due = earlier(r.lost(), r.until)
			heap.Fix(&n.queue, 0)
			if !r.asking {
				r.asking = true
				go n.ask(r, now, r.due)
			}
		}
	}
	n.arm()
}

// giveUp cancels a handler whose lease is lost, or may be.
func (r *renewal) giveUp() {
	r.limit.lose()
	r.guard.log(r.guard.engine.background.quietly(context.Background()), slog.LevelError, r.fence.ID, "the lease could not be renewed; the handler is cancelled", slog.Int64("generation", r.fence.Generation))
}

// ask renews one lease and says when to look at it again.
func (n *renewer) ask(r *renewal, sent, until time.Time) {
	ctx, cancel := context.WithDeadline(r.guard.engine.background.quietly(context.Background()), until)
	defer cancel()
	held := false
	err := guardedCall("the ledger", func() (err error) {
		_, held, err = r.guard.engine.ledger.Renew(ctx, r.fence, r.guard.terms)
		return err
	})
	switch {
	case err == nil && !held:
		if n.taken(r) {
			r.giveUp()
		}
	case err == nil:
		n.again(r, func() {
			r.sent = sent
			r.limit.lease(r.lost())
			r.due = sent.Add(r.guard.policy.Lease / 3)
		})
	default:
		if n.again(r, func() { r.due = earlier(time.Now().Add(r.guard.policy.Lease/10), r.lost()) }) {
			r.guard.observe(ctx, r.fence.ID, Event{Kind: EventLedgerRetried, Generation: r.fence.Generation, Err: err})
		}
	}
}

// taken forgets a renewal whose claim is lost. It reports false when the
// handler has returned.
func (n *renewer) taken(r *renewal) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	defer n.arm()
	return n.drop(r)
}

// again sets when a renewal is looked at next. It reports false when the
// handler has returned.
func (n *renewer) again(r *renewal, set func()) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	r.asking = false
	if r.stopped {
		return false
	}
	set()
	heap.Fix(&n.queue, r.index)
	n.arm()
	return true
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// renewals is a heap of renewals, the next one due first.
type renewals []*renewal

func (q renewals) Len() int           { return len(q) }
func (q renewals) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q renewals) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *renewals) Push(x any) {
	r := x.(*renewal)
	r.index = len(*q)
	*q = append(*q, r)
}

func (q *renewals) Pop() any {
	last := len(*q) - 1
	r := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return r
}
