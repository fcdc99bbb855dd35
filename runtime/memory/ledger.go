// Package memory is a ledger in the memory of one process, for tests and for
// services that may forget every key when they stop.
package memory

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// Ledger implements [runtime.Ledger] in memory. It is safe for concurrent use.
// The zero value is not usable; see [New].
type Ledger struct {
	now func() time.Time

	mu   sync.Mutex
	rows table
	due  dueQueue
}

// Option configures a [Ledger].
type Option func(*Ledger)

// WithClock takes the time from now instead of time.Now. now may be called
// from several goroutines at once.
func WithClock(now func() time.Time) Option {
	return func(l *Ledger) { l.now = now }
}

// New returns an empty ledger.
func New(opts ...Option) *Ledger {
	l := &Ledger{now: time.Now, rows: newTable()}
	for _, opt := range opts {
		opt(l)
	}
	return l
}

// row is a row with the columns that runtime.Row does not show.
type row struct {
	runtime.Row
	id      runtime.ID
	point   string // the recovery point; not empty: half done
	sweepAt int64
	index   int  // in the queue of due rows
	next    *row // in the table
}

// begin locks the ledger and returns the time in epoch milliseconds, unless
// ctx has ended. The caller unlocks it.
func (l *Ledger) begin(ctx context.Context) (now int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	// The clock may be the user's own, so that it is asked without the lock.
	now = l.now().UnixMilli()
	l.mu.Lock()
	return now, nil
}

// held returns the pending row on which the fence holds, or nil.
func (l *Ledger) held(f runtime.Fence) *row {
	r := l.rows.find(f.ID)
	if r == nil || r.Completed || r.Generation != f.Generation || r.Owner != f.Owner {
		return nil
	}
	return r
}

// expire sets when the row's promise ends, and when a sweep looks at it next.
func (l *Ledger) expire(r *row, at int64, gone time.Duration) {
	r.ExpiresAt = at
	r.GoneAt = at + gone.Milliseconds()
	r.sweepAt = at
	l.due.fix(r)
}

// lease starts a lease now.
func (l *Ledger) lease(r *row, now int64, terms runtime.Terms) {
	r.LeaseUntil = now + terms.Lease.Milliseconds()
	l.expire(r, r.LeaseUntil+terms.Retain.Milliseconds(), terms.Gone)
}

func claimed(r *row, now int64) runtime.Claimed {
	return runtime.Claimed{Generation: r.Generation, ClaimedAt: r.ClaimedAt, LeaseUntil: r.LeaseUntil, Now: now}
}

// Insert implements [runtime.Ledger].
func (l *Ledger) Insert(ctx context.Context, c runtime.Claim) (runtime.Claimed, bool, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return runtime.Claimed{}, false, err
	}
	defer l.mu.Unlock()
	if r := l.rows.find(c.ID); r != nil {
		if r.Owner == c.Owner && !r.Completed {
			return claimed(r, now), true, nil
		}
		return runtime.Claimed{}, false, nil
	}
	r := &row{id: c.ID, index: -1}
	l.rows.add(r)
	l.reset(r, c, 1, now, now)
	return claimed(r, now), true, nil
}

// reset gives a row to a claim that starts afresh.
func (l *Ledger) reset(r *row, c runtime.Claim, generation, claimedAt, now int64) {
	r.Row = runtime.Row{
		Operation: c.Operation, Policy: c.Policy, Fingerprint: c.Fingerprint,
		Generation: generation, Owner: c.Owner, ClaimedAt: claimedAt,
	}
	l.lease(r, now, c.Terms)
}

// Read implements [runtime.Ledger].
func (l *Ledger) Read(ctx context.Context, id runtime.ID) (runtime.Row, bool, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return runtime.Row{}, false, err
	}
	defer l.mu.Unlock()
	r := l.rows.find(id)
	if r == nil {
		return runtime.Row{}, false, nil
	}
	read := r.Row
	read.Now = now
	read.Answer = clone(read.Answer)
	return read, true, nil
}

// take claims a row that is still as it was seen and on which may holds.
func (l *Ledger) take(ctx context.Context, seen runtime.Fence, c runtime.Claim,
	may func(r *row, now int64) bool, claim func(r *row, claimedAt, now int64)) (runtime.Claimed, bool, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return runtime.Claimed{}, false, err
	}
	defer l.mu.Unlock()
	r := l.rows.find(c.ID)
	if r == nil {
		return runtime.Claimed{}, false, nil
	}
	if r.Owner == c.Owner && !r.Completed {
		return claimed(r, now), true, nil
	}
	if r.Generation != seen.Generation || r.Owner != seen.Owner || r.point != "" || !may(r, now) {
		return runtime.Claimed{}, false, nil
	}
	claim(r, max(now, r.ClaimedAt+1), now)
	return claimed(r, now), true, nil
}

// TakeOver implements [runtime.Ledger].
func (l *Ledger) TakeOver(ctx context.Context, seen runtime.Fence, c runtime.Claim) (runtime.Claimed, bool, error) {
	return l.take(ctx, seen, c,
		func(r *row, now int64) bool { return !r.Completed && r.LeaseUntil <= now && r.ExpiresAt > now },
		func(r *row, claimedAt, now int64) {
			r.Generation++
			r.Owner, r.ClaimedAt = c.Owner, claimedAt
			l.lease(r, now, c.Terms)
		})
}

// Reuse implements [runtime.Ledger].
func (l *Ledger) Reuse(ctx context.Context, seen runtime.Fence, c runtime.Claim) (runtime.Claimed, bool, error) {
	return l.take(ctx, seen, c,
		func(r *row, now int64) bool { return r.expired(now) && r.GoneAt <= now },
		func(r *row, claimedAt, now int64) { l.reset(r, c, r.Generation+1, claimedAt, now) })
}

func (r *row) expired(now int64) bool {
	return r.ExpiresAt <= now && (r.Completed || r.LeaseUntil <= now)
}

// Renew implements [runtime.Ledger].
func (l *Ledger) Renew(ctx context.Context, f runtime.Fence, terms runtime.Terms) (runtime.Claimed, bool, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return runtime.Claimed{}, false, err
	}
	defer l.mu.Unlock()
	r := l.held(f)
	if r == nil {
		return runtime.Claimed{}, false, nil
	}
	l.lease(r, now, terms)
	return claimed(r, now), true, nil
}

// Complete implements [runtime.Ledger].
func (l *Ledger) Complete(ctx context.Context, c runtime.Completion) (bool, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return false, err
	}
	defer l.mu.Unlock()
	r := l.held(c.Fence)
	if r == nil {
		r = l.rows.find(c.ID)
		return r != nil && r.Completed && r.Generation == c.Generation && r.Owner == c.Owner, nil
	}
	r.Completed, r.point = true, ""
	r.Answer = clone(c.Answer)
	l.expire(r, now+c.Retain.Milliseconds(), c.Gone)
	return true, nil
}

// clone copies an answer, both parts into one piece of memory.
func clone(a runtime.StoredAnswer) runtime.StoredAnswer {
	at := len(a.Headers)
	both := append(append(make([]byte, 0, at+len(a.Body)), a.Headers...), a.Body...)
	return runtime.StoredAnswer{Status: a.Status, Headers: both[:at:at], Body: both[at:]}
}

// Release implements [runtime.Ledger].
func (l *Ledger) Release(ctx context.Context, f runtime.Fence) (bool, error) {
	_, err := l.begin(ctx)
	if err != nil {
		return false, err
	}
	defer l.mu.Unlock()
	r := l.held(f)
	if r == nil || r.point != "" {
		return false, nil
	}
	l.remove(r)
	return true, nil
}

func (l *Ledger) remove(r *row) {
	l.rows.remove(r)
	l.due.remove(r)
}

// EndLease implements [runtime.Ledger].
func (l *Ledger) EndLease(ctx context.Context, f runtime.Fence) (bool, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return false, err
	}
	defer l.mu.Unlock()
	r := l.held(f)
	if r == nil {
		return false, nil
	}
	r.LeaseUntil = min(r.LeaseUntil, now)
	return true, nil
}

// Sweep implements [runtime.Ledger].
func (l *Ledger) Sweep(ctx context.Context, limit int) (int, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer l.mu.Unlock()
	swept := 0
	for swept < limit && len(l.due) > 0 && l.due[0].sweepAt <= now {
		r := l.due[0]
		if r.point != "" {
			// Half done: due no more, until it is completed.
			r.sweepAt = math.MaxInt64
			l.due.fix(r)
			continue
		}
		if !r.expired(now) {
			// sweep_at never lies before the end of the lease.
			break
		}
		swept++
		if r.GoneAt <= now {
			l.remove(r)
			continue
		}
		r.Answer = runtime.StoredAnswer{Headers: []byte{}, Body: []byte{}}
		r.sweepAt = r.GoneAt
		l.due.fix(r)
	}
	return swept, nil
}
