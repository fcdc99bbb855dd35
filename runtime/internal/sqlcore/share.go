package sqlcore

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// maxShared bounds what commits together, and so how long a commit takes and
// how much a failure repeats.
const maxShared = 256

// patience is longer than commits take, and short for who waits behind a lock.
const patience = 50 * time.Millisecond

// Sharing lets writes of concurrent requests commit together. A write that
// finds nothing else under way commits by itself, in its own goroutine, at
// once; what comes meanwhile queues, and is committed together by the first of
// the queue. It is safe for concurrent use.
type Sharing[DB any] struct {
	// Commit runs every write of a batch in one transaction. It returns nil
	// when all of them are durable, and otherwise none may be.
	Commit func(ctx context.Context, batch []*Write[DB]) error
	// Writers is how many commits run beside each other.
	Writers int

	mu      sync.Mutex
	running int
	queue   []*Write[DB]
	since   time.Time // when the first of the queue came
	watched bool      // relieve is about to look
}

// Write is one statement on one row: a claim or a completion.
type Write[DB any] struct {
	Insert   *InsertParams
	Complete *CompleteParams
	// Rows is how many rows the statement wrote, and Now the database's time of
	// that. A commit that does not Run its writes sets them.
	Rows, Now int64

	id    runtime.ID
	again bool // it may have been made before, and finds itself
	run   func(ctx context.Context, db DB) error
	first func(ctx context.Context, db DB) error // instead of run, when it was not sent before; may be nil
	state state
	wake  chan []*Write[DB] // a batch to lead; nil when the own one has ended
	err   error             // of the batch, once awake
}

// state is where a write is; it is guarded by the mutex of its sharing.
type state int

const (
	queued state = iota
	following
	leading
)

// Run runs the write's statement.
func (w *Write[DB]) Run(ctx context.Context, db DB) error { return w.run(ctx, db) }

// do makes a write: alone, or run in a batch. When the batch fails, the write
// is repeated alone, so that one row which cannot be written holds up nobody
// else. A caller whose ctx ends leaves; its write may happen or not. alone is
// told whether the write is sent for the first time.
func (s *Sharing[DB]) do(ctx context.Context, w *Write[DB], alone func(ctx context.Context, first bool) error) error {
	s.mu.Lock()
	if s.running < s.Writers {
		s.running++
		s.mu.Unlock()
		defer s.next()
		return alone(ctx, true)
	}
	w.wake = make(chan []*Write[DB], 1)
	if s.queue = append(s.queue, w); len(s.queue) == 1 {
		s.since = time.Now()
	}
	if !s.watched {
		s.watched = true
		time.AfterFunc(patience, s.relieve)
	}
	s.mu.Unlock()

	var batch []*Write[DB]
	select {
	case batch = <-w.wake:
	case <-ctx.Done():
		if s.leave(w) {
			return ctx.Err()
		}
		batch = <-w.wake
	}
	switch len(batch) {
	case 0:
	case 1: // nobody else waits: a transaction would only add its two statements
		defer s.next()
		return alone(ctx, true)
	default:
		s.lead(ctx, batch)
	}
	if w.err != nil {
		w.Rows, w.Now = 0, 0
		return alone(ctx, false)
	}
	return nil
}

// relieve gives the queue a further writer when it has waited for longer than
// patience: a write that waits for somebody's lock does so in nobody's place.
func (s *Sharing[DB]) relieve() {
	s.mu.Lock()
	if len(s.queue) == 0 {
		s.watched = false
		s.mu.Unlock()
		return
	}
	wait := patience - time.Since(s.since)
	stuck := wait <= 0
	if stuck {
		wait = patience
		s.running++
	}
	time.AfterFunc(wait, s.relieve)
	s.mu.Unlock()
	if stuck {
		s.next()
	}
}

// leave takes a write out of the queue. It reports false when the write leads a
// batch, which others wait for.
func (s *Sharing[DB]) leave(w *Write[DB]) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.state == queued {
		s.queue = slices.DeleteFunc(s.queue, func(other *Write[DB]) bool { return other == w })
	}
	return w.state != leading
}

// next hands the writer over to the queue.
func (s *Sharing[DB]) next() {
	s.mu.Lock()
	if len(s.queue) == 0 {
		s.running--
		s.mu.Unlock()
		return
	}
	n := min(len(s.queue), maxShared)
	batch := slices.Clone(s.queue[:n])
	s.queue, s.since = slices.Delete(s.queue, 0, n), time.Now()
	for _, w := range batch {
		w.state = following
	}
	leader := batch[0]
	leader.state = leading
	s.mu.Unlock()
	leader.wake <- batch
}

// lead commits a batch in the order of its keys, so that two servers' batches
// cannot wait for each other, and wakes who waits for it.
func (s *Sharing[DB]) lead(ctx context.Context, batch []*Write[DB]) {
	defer s.next()
	leader := batch[0]
	slices.SortStableFunc(batch, func(a, b *Write[DB]) int {
		return cmp.Or(cmp.Compare(a.id.Principal, b.id.Principal), cmp.Compare(a.id.Scope, b.id.Scope), cmp.Compare(a.id.Key, b.id.Key))
	})
	err := s.Commit(context.WithoutCancel(ctx), batch)
	for _, w := range batch {
		w.err = err
		if w != leader {
			w.wake <- nil
		}
	}
}
