package runtime

import (
	"container/heap"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// watched is a running handler, until it passes its deadline or returns. It is
// never used for another run, because the handler's context lives in it.
type watched struct {
	running
	limit deadline
	guard *Guard
	start time.Time
	index int // in the queue, -1: no longer there
}

// report tells that the deadline has passed.
func (w *watched) report() {
	// The handler may not look at its context; from now on that has ended.
	if w.limit.Err(); errors.Is(context.Cause(&w.running), ErrLeaseLost) {
		return
	}
	w.guard.log(&w.running, slog.LevelWarn, w.id, "handler passed its deadline and is waited for", slog.Int64("generation", w.generation))
	w.guard.observe(&w.running, w.id, Event{Kind: EventOverdue, Generation: w.generation, Duration: w.guard.since(w.start)})
}

// overdue tells of handlers that pass their deadlines, with one timer for all
// of an engine: nearly every handler returns long before. Safe for concurrent
// use.
type overdue struct {
	mu    sync.Mutex
	queue watchedQueue
	timer *time.Timer
	armed time.Time // when the timer fires; zero: it does not
}

// watch reports a handler at its deadline, unless forget comes first.
func (o *overdue) watch(w *watched) {
	o.mu.Lock()
	defer o.mu.Unlock()
	heap.Push(&o.queue, w)
	if o.armed.IsZero() || w.limit.at.Before(o.armed) {
		o.arm()
	}
}

// forget leaves the timer as it is: it will find nothing that is due.
func (o *overdue) forget(w *watched) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if w.index >= 0 {
		heap.Remove(&o.queue, w.index)
	}
}

// arm sets the timer to the next deadline.
func (o *overdue) arm() {
	o.armed = o.queue[0].limit.at
	wait := time.Until(o.armed)
	if o.timer == nil {
		o.timer = time.AfterFunc(wait, o.fire)
	} else {
		o.timer.Reset(wait)
	}
}

// fire reports every handler that is due.
func (o *overdue) fire() {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	for len(o.queue) > 0 && !o.queue[0].limit.at.After(now) {
		w := heap.Pop(&o.queue).(*watched)
		w.guard.engine.background.keep(w.report)
	}
	o.armed = time.Time{}
	if len(o.queue) > 0 {
		o.arm()
	}
}

// watchedQueue is a heap of running handlers, the next deadline first.
type watchedQueue []*watched

func (q watchedQueue) Len() int           { return len(q) }
func (q watchedQueue) Less(i, j int) bool { return q[i].limit.at.Before(q[j].limit.at) }
func (q watchedQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *watchedQueue) Push(x any) {
	w := x.(*watched)
	w.index = len(*q)
	*q = append(*q, w)
}

func (q *watchedQueue) Pop() any {
	last := len(*q) - 1
	w := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	w.index = -1
	return w
}
