package runtime

import (
	"context"
	"sync"
	"time"
)

// deadline is a context that ends at a time. It is what context.WithDeadline
// makes, with two differences. It is made only when somebody waits for its end:
// most work never does, and a timer and a channel cost more than the rest of a
// request's contexts. And Done and Err look at the clock themselves: after a
// pause of the process (a stopped container, a slow snapshot) timers fire
// milliseconds late, in which a handler would send one statement more.
type deadline struct {
	context.Context // of the values; never cancelled
	at              time.Time

	mu     sync.Mutex
	leased time.Time               // when the lease can be lost, where it is renewed
	err    error                   // of an end that nobody waited for
	waited context.Context         // nil until somebody waits; decides from then on
	cancel context.CancelCauseFunc // of waited
	expiry *expiry                 // of waited
	timer  *time.Timer             // ends waited at its time
}

// Deadline implements context.Context.
func (d *deadline) Deadline() (time.Time, bool) { return d.at, true }

// Done implements context.Context.
func (d *deadline) Done() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wait()
	d.look()
	return d.waited.Done()
}

// wait makes what can be waited for.
func (d *deadline) wait() {
	if d.waited != nil {
		return
	}
	d.expiry = &expiry{Context: d.Context, done: make(chan struct{})}
	d.waited, d.cancel = context.WithCancelCause(d.expiry)
	switch d.err {
	case nil:
		d.timer = time.AfterFunc(time.Until(d.at), d.fire)
	case context.DeadlineExceeded:
		d.expiry.end()
	default:
		d.cancel(nil)
	}
}

// fire ends the context at its time.
func (d *deadline) fire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.look()
}

// Err implements context.Context.
func (d *deadline) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.look()
}

// look ends the context when its time has come, under the lock, and returns its
// error.
func (d *deadline) look() error {
	if d.waited != nil {
		if err := d.waited.Err(); err != nil {
			return err
		}
	} else if d.err != nil {
		return d.err
	}
	now := time.Now()
	switch {
	case !d.leased.IsZero() && d.leased.Before(d.at) && !now.Before(d.leased):
		d.lost()
	case now.Before(d.at):
		return nil
	case d.waited == nil:
		d.err = context.DeadlineExceeded
		return d.err
	default:
		d.expiry.end()
	}
	return d.waited.Err()
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
		d.cancel(nil)
		if d.timer != nil {
			d.timer.Stop()
		}
	} else if d.err == nil {
		d.err = context.Canceled
	}
}

// lease says when the claim's lease can be lost, unless it is renewed before.
func (d *deadline) lease(until time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leased = until
}

// lose ends the context because the lease is lost, or may be.
func (d *deadline) lose() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.look() == nil {
		d.lost()
	}
}

// lost is lose under the lock, of a context that has not ended.
func (d *deadline) lost() {
	d.wait()
	d.cancel(ErrLeaseLost)
}

// expiry is the parent of a context that can be waited for. It ends its child
// in the goroutine that notices that the time is over, and not in one of its
// own, later.
type expiry struct {
	context.Context
	done  chan struct{}
	child func()
}

// Done implements context.Context.
func (e *expiry) Done() <-chan struct{} { return e.done }

// Err implements context.Context.
func (e *expiry) Err() error {
	select {
	case <-e.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// AfterFunc is how package context asks to be told of the end. It does so once,
// when the child is made.
func (e *expiry) AfterFunc(f func()) (stop func() bool) {
	e.child = f
	return func() bool { return true }
}

// end is called once, under the lock of the deadline.
func (e *expiry) end() {
	close(e.done)
	e.child()
}
