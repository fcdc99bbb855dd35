package runtime

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"time"
)

const (
	// Between two attempts at one write, and between two looks at a ledger that
	// is away.
	mendMin = 100 * time.Millisecond
	mendMax = 5 * time.Second
	// mendLimit is for one attempt.
	mendLimit = 10 * time.Second
	// menders is how many attempts run beside each other on a ledger that
	// answers. One that is away is asked by one.
	menders = 4
	// maxGiveBacks bounds the claims that wait to be given back. Further ones
	// end with their leases.
	maxGiveBacks = 10_000
	// maxOwed bounds the bytes of the answers that wait to be stored. Beyond it
	// the one that has waited longest is given up.
	maxOwed = 64 << 20
)

// mender repeats fenced writes in the background until the ledger answers: what
// is owed (answers that callers have, releases of work that ran), and claims
// that may stand although nothing ran under them, until their leases end.
// It has at most menders goroutines, however much waits, and none when nothing
// is due. A ledger that is away is asked for one write at a time, and not more
// often than every few seconds, so that nobody is greeted by a crowd when it is
// back. Safe for concurrent use.
type mender struct {
	tasks    *background
	giveBack context.Context // of claims; it ends when they are dropped
	drop     context.CancelFunc

	mu       sync.Mutex
	owed     mendings // looked at first
	claims   mendings // to be given back
	bytes    int      // of what is owed
	running  int      // attempts, of which owing are at what is owed
	owing    int
	failures int       // since the ledger answered last
	notUntil time.Time // while there are failures
	timer    *time.Timer
	closing  bool
}

// mending is one write that is repeated.
type mending struct {
	guard   *Guard
	fence   Fence
	attempt func(context.Context) error // nil says that the ledger has answered
	owed    bool
	bytes   int       // of its answer, if any
	until   time.Time // when a claim ends by itself; zero for what is owed

	due   time.Time
	since time.Time
	pause time.Duration
	err   error // of the last attempt
	index int
}

func (m *mender) init(tasks *background) {
	m.tasks = tasks
	m.giveBack, m.drop = context.WithCancel(tasks.ctx)
}

// add repeats a write from now on. What cannot wait is given up at once.
func (m *mender) add(w *mending) {
	if given := m.enter(w); given != nil {
		given.giveUp()
	}
}

// enter puts a write into its queue. It returns what is given up: nothing, the
// write, or one that had waited for longer.
func (m *mender) enter(w *mending) (given *mending) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !w.owed && (m.closing || len(m.claims) >= maxGiveBacks) || !m.tasks.begin(w.owed) {
		return w
	}
	w.since = time.Now()
	w.due = w.since
	heap.Push(m.queue(w), w)
	if w.owed {
		if m.bytes += w.weight(); m.bytes > maxOwed {
			given = m.dropOldest()
		}
	}
	m.start()
	return given
}

func (m *mender) queue(w *mending) *mendings {
	if w.owed {
		return &m.owed
	}
	return &m.claims
}

// dropOldest takes the write that has waited longest out of the queue of what
// is owed.
func (m *mender) dropOldest() *mending {
	oldest := slices.MinFunc(m.owed, func(a, b *mending) int { return a.since.Compare(b.since) })
	heap.Remove(&m.owed, oldest.index)
	m.left(oldest)
	return oldest
}

// left forgets a write that is not in its queue any more.
func (m *mender) left(w *mending) {
	if w.owed {
		m.bytes -= w.weight()
	}
	m.tasks.done()
}

// start lets as many attempts run as may, and sets the timer for the next one.
func (m *mender) start() {
	limit := menders
	if m.failures > 0 {
		limit = 1
	}
	now := time.Now()
	for m.running < limit {
		w := m.next(now)
		if w == nil {
			return
		}
		at := w.due
		if m.failures > 0 && m.notUntil.After(at) {
			at = m.notUntil
		}
		if wait := at.Sub(now); wait > 0 {
			m.wake(wait)
			return
		}
		heap.Remove(m.queue(w), w.index)
		if !w.until.IsZero() && !now.Before(w.until) {
			m.left(w) // its lease has ended it
			continue
		}
		m.running++
		if w.owed {
			m.owing++
		}
		go m.work(w)
	}
}

// next is the write that is attempted next: what is owed, where any is due, or
// what is due first.
func (m *mender) next(now time.Time) *mending {
	switch {
	case len(m.owed) > 0 && (len(m.claims) == 0 || !m.owed[0].due.After(now) || !m.claims[0].due.Before(m.owed[0].due)):
		return m.owed[0]
	case len(m.claims) > 0:
		return m.claims[0]
	}
	return nil
}

func (m *mender) wake(wait time.Duration) {
	if m.timer != nil {
		m.timer.Reset(wait)
		return
	}
	m.timer = time.AfterFunc(wait, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.start()
	})
}

// work makes one attempt.
func (m *mender) work(w *mending) {
	ctx := m.tasks.ctx
	if !w.owed {
		ctx = m.giveBack
	}
	w.try(ctx)
	if m.tried(w) {
		w.giveUp()
	}
}

// tried puts a write back that has failed. It reports whether the write is
// given up instead.
func (m *mender) tried(w *mending) (given bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running--
	if w.owed {
		m.owing--
	}
	defer m.start()
	if w.err == nil {
		m.failures = 0
		m.left(w)
		return false
	}
	now := time.Now()
	// Of a ledger that has answered, although not as one would like, the next
	// write may do better.
	if !errors.Is(w.err, ErrRowLocked) && !errors.Is(w.err, ErrRefused) {
		m.failures++
		m.notUntil = now.Add(w.jitter(min(mendMin<<min(m.failures, 6), mendMax)))
	}
	if m.closing {
		m.dropClaims()
	}
	if m.tasks.ctx.Err() != nil || m.closing && !w.owed {
		m.left(w)
		return true
	}
	w.pause = min(max(w.pause*2, mendMin), mendMax)
	w.due = now.Add(w.jitter(w.pause))
	heap.Push(m.queue(w), w)
	return false
}

// dropClaims leaves the claims that wait to be given back to their leases, when
// the ledger is away.
func (m *mender) dropClaims() {
	if m.failures == 0 {
		return
	}
	m.drop()
	for _, w := range m.claims {
		m.left(w)
	}
	m.claims = nil
}

// close attempts everything at once. What is owed is waited for; claims that
// wait to be given back are not, once the ledger is away.
func (m *mender) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closing = true
	m.dropClaims()
	now := time.Now()
	for _, q := range []mendings{m.owed, m.claims} {
		for _, w := range q {
			w.due = now
		}
	}
	m.start()
}

// abandon gives up what is left. It returns how much was owed, what is on its
// way included.
func (m *mender) abandon() int {
	m.mu.Lock()
	owed := m.owed
	m.owed = nil
	for _, w := range owed {
		m.left(w)
	}
	for _, w := range m.claims {
		m.left(w)
	}
	m.claims = nil
	n := len(owed) + m.owing
	m.mu.Unlock()
	for _, w := range owed {
		w.giveUp()
	}
	return n
}

// try makes one attempt. What panics in it, such as a sealer of the user's,
// has failed.
func (w *mending) try(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, mendLimit)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			w.err = fmt.Errorf("idemgen: panic: %v", p)
		}
	}()
	if w.err = w.attempt(ctx); w.err != nil {
		w.guard.observe(ctx, w.fence.ID, Event{Kind: EventLedgerRetried, Generation: w.fence.Generation, Err: w.err})
	}
}

// weight is about how much memory a write takes.
func (w *mending) weight() int { return 512 + w.bytes }

// giveUp tells of what is owed, and says nothing of a claim that its lease ends.
func (w *mending) giveUp() {
	if w.owed {
		w.guard.gaveUp(context.Background(), w.fence, w.err)
	}
}

// jitter is between half of d and d. It is the key's own, so that the writes of
// many processes come apart while a test's are the same in every run.
func (w *mending) jitter(d time.Duration) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(w.fence.Principal))
	h.Write([]byte(w.fence.Key))
	return d/2 + time.Duration(h.Sum32()%1024)*(d/2)/1024
}

// mendings is a heap of writes, the next one due first.
type mendings []*mending

func (q mendings) Len() int           { return len(q) }
func (q mendings) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q mendings) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *mendings) Push(x any) {
	w := x.(*mending)
	w.index = len(*q)
	*q = append(*q, w)
}

func (q *mendings) Pop() any {
	last := len(*q) - 1
	w := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return w
}
