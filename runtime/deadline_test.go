package runtime

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// ways are the orders in which a context is asked, used and ended. Each notes
// what it sees.
var ways = map[string]func(s *seen){
	"ended, then asked": func(s *seen) { s.end(); s.look(); s.wait(); s.look() },
	"asked, then ended": func(s *seen) { s.look(); s.wait(); s.end(); s.look() },
	"too late": func(s *seen) {
		s.sleep(2)
		s.look()
		s.wait()
		s.look()
		s.end()
		s.look()
	},
	"too late, seen at once": func(s *seen) { s.sleep(2); s.wait(); s.look() },
	"waited for":             func(s *seen) { s.wait(); s.sleep(2); s.look(); s.end(); s.look() },
	"ended before its time": func(s *seen) {
		s.end()
		s.look()
		s.sleep(2)
		s.look()
		s.wait()
		s.look()
	},
	"a child outlives it":      func(s *seen) { s.derive(); s.end(); s.look() },
	"a child ends by its time": func(s *seen) { s.derive(); s.sleep(2); s.look() },
	"a child of the ended":     func(s *seen) { s.end(); s.derive(); s.look() },
	"a child of the late":      func(s *seen) { s.sleep(2); s.look(); s.derive(); s.look() },
	"a cancelled child":        func(s *seen) { s.derive(); s.leave(errors.New("own cause")); s.look(); s.end(); s.look() },
	"ended twice":              func(s *seen) { s.end(); s.end(); s.look() },
}

type nameKey struct{}

// seen is a context and what was seen of it.
type seen struct {
	ctx   context.Context
	end   func()
	child context.Context
	leave context.CancelCauseFunc
	notes []string
}

func (s *seen) sleep(seconds int) { time.Sleep(time.Duration(seconds) * time.Second); synctest.Wait() }

func (s *seen) look() {
	note := fmt.Sprint(s.ctx.Err(), ", cause ", context.Cause(s.ctx), ", value ", s.ctx.Value(nameKey{}))
	if s.child != nil {
		note += fmt.Sprint("; child ", s.child.Err(), ", cause ", context.Cause(s.child), ", value ", s.child.Value(nameKey{}))
	}
	s.notes = append(s.notes, note)
}

func (s *seen) wait() {
	select {
	case <-s.ctx.Done():
		s.notes = append(s.notes, "done")
	default:
		s.notes = append(s.notes, "not done")
	}
}

func (s *seen) derive() { s.child, s.leave = context.WithCancelCause(s.ctx) }

// A deadline cannot be told from what context.WithDeadline makes.
func TestDeadlineIsTheStandardOne(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// The request, which has ended by a cause of its own.
				request, hangUp := context.WithCancelCause(context.WithValue(t.Context(), nameKey{}, "alice"))
				hangUp(errors.New("hung up"))
				values, at := context.WithoutCancel(request), time.Now().Add(time.Second)

				standard, cancel := context.WithDeadline(values, at)
				defer cancel()
				want := &seen{ctx: standard, end: cancel}
				own := &deadline{Context: values, at: at}
				got := &seen{ctx: own, end: own.end}
				// What is late in one must be late in the other: the clock of
				// the bubble stands still while they are not asleep.
				start := time.Now()
				way(want)
				if took := time.Since(start); took > 0 {
					own.at = own.at.Add(took)
				}
				way(got)
				if !slices.Equal(got.notes, want.notes) {
					t.Errorf("got  %q\nwant %q", got.notes, want.notes)
				}
				if end, ok := own.Deadline(); !ok || !end.Equal(own.at) {
					t.Errorf("the deadline is %v, %v", end, ok)
				}
				own.end()
			})
		})
	}
}

// What is derived is cancelled before end returns, and costs no goroutine.
func TestDeadlineCancelsItsChildrenAtOnce(t *testing.T) {
	d := &deadline{Context: context.Background(), at: time.Now().Add(time.Hour)}
	before := goruntime.NumGoroutine()
	var children [100]context.Context
	for i := range children {
		child, cancel := context.WithTimeout(&running{Context: d}, time.Minute)
		defer cancel()
		children[i] = child
	}
	if now := goruntime.NumGoroutine(); now > before {
		t.Errorf("%d goroutines more", now-before)
	}
	ran := make(chan struct{})
	context.AfterFunc(children[0], func() { close(ran) })
	d.end()
	for _, child := range children {
		if child.Err() != context.Canceled {
			t.Fatal("a child lives on")
		}
	}
	<-ran
}

// Whoever waits may come from anywhere and at any time.
func TestDeadlineIsSafeForConcurrentUse(t *testing.T) {
	for range 100 {
		d := &deadline{Context: context.Background(), at: time.Now().Add(time.Hour)}
		ended := make(chan error)
		for i := range 8 {
			go func() {
				if i%2 == 0 {
					d.Err()
				}
				<-d.Done()
				ended <- d.Err()
			}()
		}
		d.end()
		for range 8 {
			if err := <-ended; err != context.Canceled {
				t.Fatal(err)
			}
		}
	}
}

// Two answers of one exchange never share memory.
func TestMemoryOfAHeaderIsGivenOnce(t *testing.T) {
	x := &exchange{}
	first := append(x.takeHeader(), HeaderField{"A", "1"})
	second := append(x.takeHeader(), HeaderField{"B", "2"})
	if first.Get("A") != "1" || second.Get("B") != "2" {
		t.Errorf("%v, %v", first, second)
	}
}

// The clock decides, not a timer that is late.
func TestDeadlineLooksAtTheClock(t *testing.T) {
	for name, ends := range map[string]func(d *deadline){
		"Done": func(d *deadline) { <-d.Done() },
		"Err":  func(d *deadline) { d.Err() },
	} {
		for by, c := range map[string]struct {
			set        func(d *deadline, past time.Time)
			err, cause error
		}{
			"deadline": {func(d *deadline, past time.Time) { d.at = past }, context.DeadlineExceeded, context.DeadlineExceeded},
			"lease":    {func(d *deadline, past time.Time) { d.lease(past) }, context.Canceled, ErrLeaseLost},
			"both, the lease first": {func(d *deadline, past time.Time) { d.at = past; d.lease(past.Add(-time.Second)) },
				context.Canceled, ErrLeaseLost},
			"both, the deadline first": {func(d *deadline, past time.Time) { d.at = past; d.lease(past.Add(time.Second / 2)) },
				context.DeadlineExceeded, context.DeadlineExceeded},
		} {
			t.Run(name+" and the "+by, func(t *testing.T) {
				d := &deadline{Context: context.Background(), at: time.Now().Add(time.Hour)}
				defer d.end()
				done := d.Done()
				child, cancel := context.WithTimeout(d, time.Minute)
				defer cancel()
				// Its timer is an hour late.
				c.set(d, time.Now().Add(-time.Second))
				ends(d)
				select {
				case <-done:
				default:
					t.Error("whoever waits is not told")
				}
				for _, ctx := range []context.Context{d, child} {
					if err, cause := ctx.Err(), context.Cause(ctx); err != c.err || cause != c.cause {
						t.Errorf("%v, cause %v; want %v, %v", err, cause, c.err, c.cause)
					}
				}
			})
		}
	}
}
