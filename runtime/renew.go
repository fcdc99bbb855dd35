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
// for it, with one timer. Safe for concurrent use.
type renewer struct {
	mu    sync.Mutex
	queue renewals
	timer *time.Timer
}

// renewal is one running handler.
type renewal struct {
	guard  *Guard
	fence  Fence
	cancel context.CancelCauseFunc

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

// add renews a claim until the function that it returns is called.
func (n *renewer) add(g *Guard, h *held, cancel context.CancelCauseFunc) (stop func()) {
	r := &renewal{guard: g, fence: h.fence, cancel: cancel, sent: h.sent}
	n.mu.Lock()
	defer n.mu.Unlock()
	r.due = r.sent.Add(g.policy.Lease / 3)
	heap.Push(&n.queue, r)
	n.arm()
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if !r.stopped {
			r.stopped = true
			heap.Remove(&n.queue, r.index)
			n.arm()
		}
	}
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
		if !r.lost().After(now) {
			n.give(r, ErrLeaseLost)
			continue
		}
		r.due = r.lost()
		heap.Fix(&n.queue, 0)
		if !r.asking {
			r.asking = true
			go n.ask(r, now, r.due)
		}
	}
	n.arm()
}

// give cancels a handler and forgets it.
func (n *renewer) give(r *renewal, cause error) {
	r.stopped = true
	heap.Remove(&n.queue, r.index)
	r.guard.log(context.Background(), slog.LevelError, r.fence.ID, "the lease could not be renewed; the handler is cancelled", slog.Int64("generation", r.fence.Generation))
	r.cancel(cause)
}

// ask renews one lease and says when to look at it again.
func (n *renewer) ask(r *renewal, sent, until time.Time) {
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	_, held, err := r.guard.engine.ledger.Renew(ctx, r.fence, r.guard.terms)
	n.mu.Lock()
	defer n.mu.Unlock()
	r.asking = false
	switch {
	case r.stopped:
		return
	case err == nil && !held:
		n.give(r, ErrLeaseLost)
	case err == nil:
		r.sent = sent
		r.due = sent.Add(r.guard.policy.Lease / 3)
		heap.Fix(&n.queue, r.index)
	default:
		r.guard.observe(ctx, r.fence.ID, Event{Kind: EventLedgerRetried, Generation: r.fence.Generation, Err: err})
		r.due = earlier(time.Now().Add(r.guard.policy.Lease/10), r.lost())
		heap.Fix(&n.queue, r.index)
	}
	n.arm()
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
