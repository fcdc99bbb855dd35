package runtime

import (
	"context"
	"sync"
)

// background runs what must outlive the request that caused it.
type background struct {
	ctx    context.Context // ends when the tasks are abandoned
	cancel context.CancelFunc

	mu     sync.Mutex
	tasks  int
	closed bool
	idle   chan struct{} // closed when closed and tasks == 0

	reports   []func() // what observer and log are to be told
	reporting bool
}

func newBackground() *background {
	b := &background{idle: make(chan struct{})}
	b.ctx, b.cancel = context.WithCancel(b.quietly(context.Background()))
	return b
}

// run starts a task, unless it is closed.
func (b *background) run(task func(ctx context.Context)) bool {
	if !b.begin(false) {
		return false
	}
	go func() {
		defer b.done()
		task(b.ctx)
	}()
	return true
}

// begin counts a task, which done ends. After close only required tasks begin,
// and none when it has abandoned some.
func (b *background) begin(required bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed && !required || b.ctx.Err() != nil {
		return false
	}
	b.tasks++
	return true
}

// maxReports bounds what is kept for an observer or a logger that blocks.
const maxReports = 1024

// quietly lets the background keep what is told under a context: observer and
// log are the user's and may block, and then hold up each other, in one
// goroutine, but nothing of ours.
func (b *background) quietly(ctx context.Context) context.Context {
	return context.WithValue(ctx, keeperKey{}, keeper(b))
}

// keep implements keeper.
func (b *background) keep(report func()) {
	b.mu.Lock()
	if len(b.reports) < maxReports {
		b.reports = append(b.reports, report)
	}
	start := !b.reporting
	b.reporting = true
	b.mu.Unlock()
	if start {
		b.startReport()
	}
}

// startReport reports in a goroutine, for which close waits unless that has been
// given up.
func (b *background) startReport() {
	counted := b.begin(true)
	go func() {
		if counted {
			defer b.done()
		}
		b.report()
	}()
}

// report tells what was kept, until nothing is left.
func (b *background) report() {
	defer func() {
		// An observer has ended the goroutine: the rest is told by another one.
		b.mu.Lock()
		again := b.reporting
		b.mu.Unlock()
		if again {
			b.startReport()
		}
	}()
	for {
		b.mu.Lock()
		if len(b.reports) == 0 {
			b.reports, b.reporting = nil, false
			b.mu.Unlock()
			return
		}
		next := b.reports[0]
		b.reports = b.reports[1:]
		b.mu.Unlock()
		next()
	}
}

func (b *background) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tasks--
	b.settle()
}

// settle closes idle when nothing runs and nothing is meant to follow.
func (b *background) settle() {
	if b.closed && b.tasks == 0 {
		select {
		case <-b.idle:
		default:
			close(b.idle)
		}
	}
}

// close waits for the tasks until ctx ends, and returns how many it abandoned.
func (b *background) close(ctx context.Context) int {
	b.mu.Lock()
	b.closed = true
	b.settle()
	b.mu.Unlock()
	select {
	case <-b.idle:
		if ctx.Err() == nil {
			return 0
		}
		// A request that still runs may start a task: it is abandoned, too.
	case <-ctx.Done():
	}
	b.cancel()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tasks
}
