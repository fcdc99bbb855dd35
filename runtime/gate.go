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
	crowd crowd // of those who wait
	keys  map[ID]*gate
}

type gate struct {
	count int           // inside and waiting
	free  chan struct{} // holds one token while nobody is inside
}

// enter waits for a key until nobody else is at work on it; a key that nobody is
// at work on is entered at once, however many others are. It reports false when
// too many wait for this key or too many of its caller's wait, when ctx ends, or
// at the limit; otherwise leave must be called.
func (g *gates) enter(ctx context.Context, id ID, limit time.Duration) (leave func(), entered bool) {
	g.mu.Lock()
	if g.keys == nil {
		g.keys = map[ID]*gate{}
	}
	key := g.keys[id]
	if key == nil {
		key = &gate{free: make(chan struct{}, 1)}
		g.keys[id] = key
		key.count++
		g.mu.Unlock()
		return func() { g.leave(id, key) }, true
	}
	if key.count > maxOfKey || !g.crowd.join(id.Principal) {
		g.mu.Unlock()
		return nil, false
	}
	key.count++
	g.mu.Unlock()

	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-key.free:
		entered = true
	case <-timer.C:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.crowd.leave(id.Principal)
	if entered {
		return func() { g.leave(id, key) }, true
	}
	g.drop(id, key)
	return nil, false
}

// leave lets the next one in.
func (g *gates) leave(id ID, key *gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	key.free <- struct{}{}
	g.drop(id, key)
}

// drop forgets a key for which nobody is there any more.
func (g *gates) drop(id ID, key *gate) {
	if key.count--; key.count == 0 {
		delete(g.keys, id)
	}
}
