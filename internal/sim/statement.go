package sim

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// statement is something that waits for the scheduler: a statement on its way
// to the ledger, the ledger's answer on its way back, or a handler at work.
type statement struct {
	name    string
	process *process // nil: the database server itself
	request *request // on whose behalf, nil for sweeps
	run     func() error

	needs   *runtime.ID  // the row whose lock it needs, if any
	inserts *runtime.ID  // the key that no transaction may be claiming, if any
	tx      *transaction // that it belongs to
	commits bool         // it ends tx with all that was written
	opens   bool         // it opens a transaction
	opened  *transaction // that it opened

	arrived   time.Duration
	notBefore time.Duration // when the scheduler may move it next
	executed  bool
	waits     bool // for a standby, before it is answered
	unheard   bool // nobody waits for it any more; it may be executed all the same
	err       error
	done      chan struct{}
}

// compareStatements is an order that does not depend on which of two
// goroutines, woken at the same instant, was faster.
func compareStatements(a, b *statement) int {
	return cmp.Or(
		cmp.Compare(a.request.number(), b.request.number()),
		cmp.Compare(a.process.number(), b.process.number()),
		cmp.Compare(a.name, b.name),
	)
}

// errOver ends what still waits when a world ends.
var errOver = errors.New("the world is over")

// send waits until the scheduler has answered a statement.
func (w *world) send(ctx context.Context, s *statement) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-w.over:
		return errOver
	default:
	}
	if s.process.dead.Load() {
		<-w.over
		return errOver
	}
	w.arrive(s)
	select {
	case <-s.done:
		return s.err
	case <-ctx.Done():
		w.giveUp(s, ctx.Err())
		return ctx.Err()
	case <-w.over:
		return errOver
	}
}

func (w *world) arrive(s *statement) {
	s.done = make(chan struct{})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.arrivals = append(w.arrivals, s)
}

// giveUp is what a client does when its patience ends: the statement may be
// executed all the same. The scheduler learns of it when it looks next.
func (w *world) giveUp(s *statement, err error) {
	w.noteFailed(s, err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.givenUp = append(w.givenUp, s)
}

func (w *world) noteFailed(s *statement, err error) {
	if s.name != handlerAtWork {
		w.note(Event{Kind: Failed, Request: s.request.number(), Text: s.name, Err: err})
	}
}

// disconnect breaks the connection of a statement's transaction.
func (s *statement) disconnect() {
	for _, tx := range []*transaction{s.tx, s.opened} {
		if tx != nil {
			tx.lose()
		}
	}
}

// execute runs a statement against the table.
func (w *world) execute(s *statement) {
	w.act(s.request.number())
	w.table.waits = false
	s.err = s.run()
	w.act(0)
	s.executed, s.waits = true, w.table.waits && s.err == nil
	if s.opened != nil && s.unheard {
		s.opened.lose()
	}
}

// act says on whose behalf the table changes.
func (w *world) act(request int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acting = request
}

// deliver gives a statement's answer to who waits for it.
func (w *world) deliver(s *statement) {
	if s.unheard {
		return
	}
	if s.err != nil {
		w.noteFailed(s, s.err)
	}
	if breaks(s.err) {
		s.disconnect()
	}
	s.unheard = true
	close(s.done)
}

// fail answers a statement with an error, executed or not.
func (w *world) fail(s *statement, err error) {
	s.err = err
	w.deliver(s)
}

// behind says whether a statement that was executed cannot be answered yet, because
// the standby does not have what it came to.
func (w *world) behind(s *statement) bool { return s.executed && s.waits && w.table.standby != nil }

// blocked says whether another transaction holds the row or the key that s
// needs.
func (w *world) blocked(s *statement) bool {
	switch {
	case s.executed || w.variant == CommitWithoutRowLock:
		return false
	case s.inserts != nil:
		return w.table.claiming(*s.inserts)
	case s.needs == nil:
		return false
	}
	r := w.table.at(*s.needs)
	return r != nil && r.lock != nil
}

// breaks says whether a connection is not used again after an error.
func breaks(err error) bool {
	switch err {
	case nil, errRefused, runtime.ErrTxFailed, runtime.ErrTxEnded, runtime.ErrTxConflict:
		return false
	}
	return true
}
