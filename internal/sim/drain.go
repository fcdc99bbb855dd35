package sim

import (
	"context"
	"time"
)

// maxDrain bounds the steps in which a world must come to rest once nothing
// fails any more.
const maxDrain = 5000

// drain lets everything end without further faults: each request, then what
// the engines still have to do. Then each key is asked for once more, in a new
// process. What does not end is noted.
func (w *world) drain() {
	w.reconnect()
	w.answerAll()
	w.closeAll(w.processes)
	w.until(func() bool { return len(w.pending) == 0 })
	w.note(Event{Kind: AtRest})
	p := w.boot()
	for _, id := range ids {
		w.request(p, id, 0)
		w.answerAll()
	}
	w.closeAll([]*process{p})
}

// answerAll moves everything on until each request has its answer.
func (w *world) answerAll() {
	if w.until(func() bool { return w.unanswered() == 0 }) {
		return
	}
	for _, r := range w.requests {
		if r.end() {
			w.note(Event{Kind: Unanswered, Request: r.n})
		}
	}
}

// closeAll moves everything on until the engines are closed.
func (w *world) closeAll(processes []*process) {
	closing := len(processes)
	for _, p := range processes {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			err := p.engine.Close(ctx)
			w.mu.Lock()
			closing--
			w.mu.Unlock()
			if err != nil {
				w.note(Event{Kind: Unsettled, Err: err})
			}
		}()
	}
	w.until(func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return closing == 0
	})
}

func (w *world) unanswered() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.live
}

func (w *world) ended(r *request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return r.ended
}

// until moves everything on, in order of arrival, until done; false when that
// does not come.
func (w *world) until(done func() bool) bool {
	for range maxDrain {
		w.settle(nil)
		if done() {
			return true
		}
		if !w.moveFirst() {
			time.Sleep(100 * time.Millisecond)
		}
	}
	return false
}

// moveFirst moves on the first statement that can be.
func (w *world) moveFirst() bool {
	for _, s := range w.pending {
		if !w.blocked(s) {
			w.moveOn(s)
			return true
		}
	}
	return false
}

// moveOn executes and answers a statement; a handler ends well.
func (w *world) moveOn(s *statement) {
	if s.name == handlerAtWork {
		s.request.outcome = created
	} else if !s.executed {
		w.execute(s)
	}
	w.deliver(s)
	s.executed = true
}

// end releases everything that waits for a scheduler that will not come.
func (w *world) end() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	close(w.over)
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	for _, p := range append(w.processes, w.graves...) {
		p.engine.Close(gone)
	}
	w.running.Wait()
}
