package runtime

import (
	"context"
	"sync"
	"time"
)

// gates let one request of a process at a time work on a key whose claim is
// not visible before it commits. Duplicates queue here, before they take a
// connection, so that they cannot use up the pool that their owner needs. Safe
// for concurrent use.
type gates struct {
	mu    sync.Mutex
	count int
	keys  map[ID]*gate
}

type gate struct {
	count int
	free  chan struct{} // holds one token while nobody is inside
}

// enter waits for a key until nobody else is at work on it. It reports false
// when too many wait, when ctx ends, or at the limit; otherwise leave must be
// called.
func (g *gates) enter(ctx context.Context, id ID, limit time.Duration) (leave func(), entered bool) {
	g.mu.Lock()
	if g.count >= maxWaiters {
		g.mu.Unlock()
		return nil, false
	}
	if g.keys == nil {
		g.keys = map[ID]*gate{}
	}
	key := g.keys[id]
	if key == nil {
		key = &gate{free: make(chan struct{}, 1)}
		key.free <- struct{}{}
		g.keys[id] = key
	}
	g.count++
	key.count++
	g.mu.Unlock()

	drop := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.count--
		if key.count--; key.count == 0 {
			delete(g.keys, id)
		}
	}
	inside := func() { key.free <- struct{}{}; drop() }
	select {
	case <-key.free: // the usual case needs no timer
		return inside, true
	default:
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-key.free:
		return inside, true
	case <-timer.C:
	case <-ctx.Done():
	}
	drop()
	return nil, false
}
