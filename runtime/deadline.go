package runtime

import (
	"context"
	"sync"
	"time"
)

// deadline is a context that ends at a time. It is what context.WithDeadline
// makes, made only when somebody waits for its end: most work never does, and
// a timer and a channel cost more than the rest of a request's contexts.
type deadline struct {
	context.Context // of the values; never cancelled
	at              time.Time

	mu     sync.Mutex
	err    error              // of an end that nobody waited for
	waited context.Context    // nil until somebody waits; decides from then on
	cancel context.CancelFunc // of waited
}

// Deadline implements context.Context.
func (d *deadline) Deadline() (time.Time, bool) { return d.at, true }

// Done implements context.Context.
func (d *deadline) Done() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waited == nil {
		if d.err == context.Canceled {
			d.waited, d.cancel = context.WithCancel(d.Context)
			d.cancel()
		} else {
			d.waited, d.cancel = context.WithDeadline(d.Context, d.at)
		}
	}
	return d.waited.Done()
}

// Err implements context.Context.
func (d *deadline) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ended()
}

// ended is Err under the lock.
func (d *deadline) ended() error {
	if d.waited != nil {
		return d.waited.Err()
	}
	if d.err == nil && !time.Now().Before(d.at) {
		d.err = context.DeadlineExceeded
	}
	return d.err
}

// Value implements context.Context. A context that is derived from this one
// asks for its Done first and then finds, by a key that is package context's
// own, the context behind it: so it is cancelled without a goroutine, and
// context.Cause is right.
func (d *deadline) Value(key any) any {
	d.mu.Lock()
	waited := d.waited
	d.mu.Unlock()
	if waited != nil {
		return waited.Value(key)
	}
	return d.Context.Value(key)
}

// end ends the context now.
func (d *deadline) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waited != nil {
		d.cancel()
	} else if d.err == nil {
		d.err = context.Canceled
	}
}
