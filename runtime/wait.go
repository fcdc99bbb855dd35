package runtime

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// Between two looks at the row of an owner in another process.
	waitMin = 50 * time.Millisecond
	waitMax = time.Second
	// maxWaiters bounds the duplicates of one process that wait; further ones
	// are refused at once.
	maxWaiters = 10_000
)

// waiters wakes duplicates when an owner of the same process is done. Safe for
// concurrent use.
type waiters struct {
	mu    sync.Mutex
	count int
	keys  map[ID]*waiting
}

// waiting is everybody who waits for one key.
type waiting struct {
	count int
	done  chan struct{} // closed at the next wake
}

// join waits for a key until leave is called; ok is false when too many wait.
func (w *waiters) join(id ID) (leave func(), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count >= maxWaiters {
		return nil, false
	}
	w.count++
	if w.keys == nil {
		w.keys = map[ID]*waiting{}
	}
	key := w.keys[id]
	if key == nil {
		key = &waiting{done: make(chan struct{})}
		w.keys[id] = key
	}
	key.count++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.count--
		if key.count--; key.count == 0 {
			delete(w.keys, id)
		}
	}, true
}

// next is closed when the key is next heard of. It must be taken before the
// row is read, or a completion in between would be missed.
func (w *waiters) next(id ID) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.keys[id].done
}

// wake wakes everybody who waits for a key.
func (w *waiters) wake(id ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if key := w.keys[id]; key != nil {
		close(key.done)
		key.done = make(chan struct{})
	}
}

// await waits for the running owner of a key. It returns what its row says in
// the end: a replay, a refusal, or again when the owner let go of the key and
// the caller may claim it. No connection is held while it waits; a client that
// hangs up stops waiting.
func (g *Guard) await(ctx context.Context, id ID, call Call, refusal error) (result Result, again bool, err error) {
	leave, ok := g.engine.waiters.join(id)
	if !ok {
		return Result{}, false, refusal
	}
	defer leave()
	limit := time.NewTimer(g.policy.Wait)
	defer limit.Stop()
	for pause := waitMin; ; pause = min(pause*2, waitMax) {
		woken := g.engine.waiters.next(id)
		row, found, err := g.engine.ledger.Read(context.WithoutCancel(ctx), id)
		if err != nil {
			return Result{}, false, claimFailed(err)
		}
		if !found {
			return Result{}, true, nil
		}
		v, result, err := g.decide(ctx, id, call, &row)
		if v != answered {
			return Result{}, true, nil
		}
		if !isInProgress(err) {
			return result, false, err
		}
		poll := time.NewTimer(pause)
		select {
		case <-woken:
		case <-poll.C:
		case <-limit.C:
			poll.Stop()
			return Result{}, false, err
		case <-ctx.Done():
			poll.Stop()
			return Result{}, false, err
		}
		poll.Stop()
	}
}

func isInProgress(err error) bool {
	var own *Error
	return errors.As(err, &own) && own.Code == CodeKeyInProgress
}
