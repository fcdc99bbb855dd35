package runtime

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

const (
	// Between two looks at the row of an owner in another process.
	waitMin = 50 * time.Millisecond
	waitMax = time.Second
)

// waiters brings together who waits for one key in a process: one of them asks
// the ledger for all, and an owner of the same process wakes it. Safe for
// concurrent use.
type waiters struct {
	mu    sync.Mutex
	crowd crowd
	keys  map[ID]*waiting
}

// waiting is everybody who waits for one key.
type waiting struct {
	all   *waiters
	count int
	woken chan struct{} // closed at the next wake
	lead  chan struct{} // holds one token while nobody asks the ledger
	news  *news         // what comes next
}

// news is a row that decides, for whoever waits.
type news struct {
	told chan struct{} // closed once row is there
	row  Row
}

// join waits for a key until leave is called; it returns nil when too
// many of the caller's wait.
func (w *waiters) join(id ID) (key *waiting, leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.crowd.join(id.Principal) {
		return nil, nil
	}
	if w.keys == nil {
		w.keys = map[ID]*waiting{}
	}
	key = w.keys[id]
	if key == nil {
		key = &waiting{all: w, woken: make(chan struct{}), lead: make(chan struct{}, 1), news: &news{told: make(chan struct{})}}
		key.lead <- struct{}{}
		w.keys[id] = key
	}
	key.count++
	return key, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.crowd.leave(id.Principal)
		if key.count--; key.count == 0 {
			delete(w.keys, id)
		}
	}
}

// next is closed when the key is next heard of. It must be taken before the
// row is read, or a completion in between would be missed.
func (k *waiting) next() <-chan struct{} {
	k.all.mu.Lock()
	defer k.all.mu.Unlock()
	return k.woken
}

// coming is what is told next.
func (k *waiting) coming() *news {
	k.all.mu.Lock()
	defer k.all.mu.Unlock()
	return k.news
}

// tell shows a row to everybody who waits.
func (k *waiting) tell(row Row) {
	k.all.mu.Lock()
	defer k.all.mu.Unlock()
	k.news.row = row
	close(k.news.told)
	k.news = &news{told: make(chan struct{})}
}

// wake tells who waits for a key that something has happened to it.
func (w *waiters) wake(id ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if key := w.keys[id]; key != nil {
		close(key.woken)
		key.woken = make(chan struct{})
	}
}

// await waits for the running owner of a key, until its answer stands or the
// policy's time is over: then refusal, or a later one, is the answer. Where the
// owner lets go of the key, one of those who wait at a time claims it, and the
// others go on waiting. No connection is held meanwhile; a client that hangs up
// stops waiting.
func (g *Guard) await(ctx context.Context, id ID, call Call, refusal error, claim func() (*held, Result, error)) (*held, Result, error) {
	key, leave := g.engine.waiters.join(id)
	if key == nil {
		return nil, Result{}, refusal
	}
	defer leave()
	call.exchange.forget()
	limit := time.NewTimer(g.policy.Wait)
	defer limit.Stop()
	for {
		coming := key.coming()
		select {
		case <-key.lead:
			return g.lead(ctx, id, call, key, limit.C, refusal, claim)
		case <-coming.told:
			// Each is compared for itself, and has an answer of its own.
			row := coming.row
			row.Answer.Body = slices.Clone(row.Answer.Body)
			if v, result, err := g.decide(ctx, id, call, &row); v == answered && !waits(err) {
				return nil, result, err
			}
		case <-limit.C:
			return nil, Result{}, refusal
		case <-ctx.Done():
			return nil, Result{}, refusal
		}
	}
}

// lead is await for the one who asks the ledger.
func (g *Guard) lead(ctx context.Context, id ID, call Call, key *waiting, limit <-chan time.Time, refusal error, claim func() (*held, Result, error)) (*held, Result, error) {
	defer func() { key.lead <- struct{}{} }()
	for pause := waitMin; ; pause = min(pause*2, waitMax) {
		woken := key.next()
		row, found, err := g.engine.ledger.Read(context.WithoutCancel(ctx), id)
		v, result := reusable, Result{}
		switch {
		case err != nil:
			v, err = answered, refusal // it may pass before the time is over
		case found:
			v, result, err = g.decide(ctx, id, call, &row)
		}
		if v == answered && !waits(err) {
			key.tell(row)
			return nil, result, err
		}
		if v != answered {
			var h *held
			if h, result, err = claim(); h != nil || !waits(err) {
				return h, result, err
			}
		}
		refusal = err
		poll := time.NewTimer(pause)
		select {
		case <-woken:
		case <-poll.C:
		case <-limit:
			poll.Stop()
			return nil, Result{}, refusal
		case <-ctx.Done():
			poll.Stop()
			return nil, Result{}, refusal
		}
		poll.Stop()
	}
}

// waits reports whether an answer says that another request is at work on the
// key, so that waiting may bring a better one.
func waits(err error) bool {
	var own *Error
	return errors.As(err, &own) && (own.Code == CodeKeyInProgress || own.Code == CodeKeyRetry && own.Cause == nil)
}
