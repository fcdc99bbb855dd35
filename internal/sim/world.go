package sim

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// world is one simulated ledger with processes and clients. The scheduler's
// goroutine alone uses it, and only while all others wait, but for what says
// otherwise.
type world struct {
	variant   Variant
	policy    runtime.Policy
	mode      Mode
	mixed     bool // every second process has the other mode
	conflicts bool // transactions meet each other
	unruly    bool // handlers end transactions themselves
	table     *table
	processes []*process // alive
	graves    []*process
	requests  []*request
	pending   []*statement
	open      []*transaction // not yet ended
	start     time.Time
	skew      time.Duration // of the ledger's clock

	running sync.WaitGroup // requests
	over    chan struct{}  // closed at the end

	mu       sync.Mutex // guards what follows
	step     int
	acting   int // the request whose statement is being executed
	jumps    int
	live     int // requests without an answer in living processes
	closed   bool
	arrivals []*statement
	givenUp  []*statement
	history  []Event
	owners   map[runtime.Owner]*request
}

// process is a server with an engine of its own.
type process struct {
	n         int
	conn      *conn
	engine    *runtime.Engine
	guard     *runtime.Guard
	dead      atomic.Bool
	notBefore time.Duration // paused until then
}

func (p *process) number() int {
	if p == nil {
		return -1
	}
	return p.n
}

// epoch is the ledger's time when a world begins, in epoch milliseconds.
const epoch = 1_700_000_000_000

func newWorld(variant Variant, policy runtime.Policy, mode Mode, mixed bool, processes int) *world {
	w := &world{variant: variant, policy: policy, mode: mode, mixed: mixed, start: time.Now(),
		over: make(chan struct{}), owners: map[runtime.Owner]*request{}}
	w.table = &table{variant: variant, rows: map[runtime.ID]*row{}, unseen: map[runtime.ID]*transaction{}, note: w.note,
		clock: func() int64 { return epoch + (w.now() + w.skew).Milliseconds() }}
	for range processes {
		w.boot()
	}
	return w
}

func (w *world) now() time.Duration { return time.Since(w.start) }

// note writes history. Safe for concurrent use.
func (w *world) note(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	e.Step, e.At, e.Jumps = w.step, w.now(), w.jumps
	if e.Request == 0 {
		e.Request = w.acting
	}
	if e.Kind == Inserted || e.Kind == TakenOver || e.Kind == Reused {
		e.Alive = w.alive(e.Fence.ID)
	}
	w.history = append(w.history, e)
}

// alive finds the requests that run under a key and have not been told to
// stop; those of a dead process do not run.
func (w *world) alive(id runtime.ID) (alive []int) {
	for _, r := range w.requests {
		if r.id == id && r.running && r.run.Err() == nil && !r.process.dead.Load() {
			alive = append(alive, r.n)
		}
	}
	return alive
}

// boot starts a process. Every second one has another fingerprint rule, and
// perhaps the other mode, as in the middle of a deployment.
func (w *world) boot() *process {
	p := &process{n: len(w.processes) + len(w.graves)}
	p.conn = &conn{w, p}
	policy := w.policy
	mode := w.mode
	if p.n%2 == 1 {
		policy.Fingerprint.Headers = []string{"content-type", "x-api-version"}
		if w.mixed {
			mode = mode.other()
		}
	}
	policy.Once = mode == Once
	switch w.variant {
	case EagerRetry:
		policy.Retry++
	case StoredFailures:
		policy.Failure = runtime.FailureStore
	}
	var err error
	if p.engine, err = runtime.NewEngine(p.conn, runtime.WithLogger(slog.New(slog.DiscardHandler))); err != nil {
		panic(err)
	}
	if p.guard, err = p.engine.Guard(policy); err != nil {
		panic(err)
	}
	w.processes = append(w.processes, p)
	return p
}

// request sends a request to a process.
func (w *world) request(p *process, id runtime.ID, body int) *request {
	r := &request{n: len(w.requests) + 1, world: w, process: p, id: id, body: body}
	r.ctx, r.hangUp = context.WithCancel(context.Background())
	w.requests = append(w.requests, r)
	w.note(Event{Kind: Sent, Request: r.n, Fence: runtime.Fence{ID: id}, Body: body, Clock: w.table.clock()})
	w.mu.Lock()
	w.live++
	w.mu.Unlock()
	w.running.Add(1)
	go r.serve()
	return r
}

// settle waits until everything waits, and takes up what has arrived. fresh is
// called for each new statement, in an order that depends on nothing but the
// decisions so far.
func (w *world) settle(fresh func(*statement)) {
	synctest.Wait()
	w.mu.Lock()
	w.step++
	arrived, givenUp := w.arrivals, w.givenUp
	w.arrivals, w.givenUp = nil, nil
	w.mu.Unlock()
	slices.SortStableFunc(arrived, compareStatements)
	for _, s := range arrived {
		s.arrived = w.now()
		if fresh != nil {
			fresh(s)
		}
		w.pending = append(w.pending, s)
	}
	for _, s := range givenUp {
		s.unheard = true
		s.disconnect()
	}
	w.open = slices.DeleteFunc(w.open, func(tx *transaction) bool { return tx.ended })
	for _, tx := range w.open {
		if tx.lost && !tx.missed {
			tx.missed = true
			s := &statement{name: "rollback by the server", unheard: true, arrived: w.now(), run: tx.give}
			if fresh != nil {
				fresh(s)
			}
			w.pending = append(w.pending, s)
		}
	}
	w.pending = slices.DeleteFunc(w.pending, func(s *statement) bool {
		return s.unheard && (s.executed || s.name == handlerAtWork || s.tx != nil && !s.commits)
	})
}

// jump moves the ledger's clock.
func (w *world) jump(d time.Duration) {
	w.skew += d
	w.mu.Lock()
	w.jumps++
	w.mu.Unlock()
	w.note(Event{Kind: Jumped, Clock: w.table.clock(), Text: d.String()})
}

// kill ends a process: its requests hear nothing more, and of its statements
// those that are on their way may still be executed.
func (w *world) kill(p *process) {
	p.dead.Store(true)
	w.processes = slices.DeleteFunc(w.processes, func(q *process) bool { return q == p })
	w.graves = append(w.graves, p)
	w.note(Event{Kind: Killed})
	for _, r := range w.requests {
		if r.process == p {
			r.end()
			w.note(Event{Kind: Died, Request: r.n})
		}
	}
	for _, s := range w.pending {
		if s.process == p {
			s.unheard = true
		}
	}
	for _, tx := range w.open {
		if tx.process == p {
			tx.lose()
		}
	}
}
