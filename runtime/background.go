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
}

func newBackground() *background {
	b := &background{idle: make(chan struct{})}
	b.ctx, b.cancel = context.WithCancel(context.Background())
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
