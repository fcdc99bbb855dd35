package sim

import (
	"errors"
	"fmt"

	"github.com/idemgen/idemgen/runtime"
)

// transaction is the model of a handler's transaction: what it writes stands
// when it commits, and its row is locked from the first statement on. One that
// carries its own claim has a row that nobody else sees before that.
type transaction struct {
	table      *table
	process    *process
	request    int
	row        *row
	fence      runtime.Fence
	claim      *runtime.Claim // made in it; nil: it stood before
	effect     bool           // the handler has written
	completion *runtime.Completion
	completed  int64 // when Complete ran
	failed     bool  // a statement met another transaction: only a rollback helps
	spent      bool  // its savepoint went with a completion that was tried
	doomed     bool  // the database will roll it back when it is to commit
	ended      bool
	// lost says that its connection is: no statement reaches it any more, and
	// the server rolls it back when it notices.
	lost   bool
	missed bool // the server is about to notice

	// What its client knows of a handler that ended it.
	byHand bool // it did
	closed bool // by a call that the client remembers, not by a statement
	told   bool // the ledger has been told that it ended
}

// begin opens a transaction whose first statement tests the fence. The row is
// not locked by another: the scheduler has seen to that.
func (t *table) begin(f runtime.Fence) *transaction {
	r := t.held(f)
	if r == nil {
		return nil
	}
	tx := &transaction{table: t, row: r, fence: f}
	r.lock = tx
	return tx
}

// beginOnce opens a transaction that claims a key which no row holds.
func (t *table) beginOnce(c runtime.Claim) (*transaction, runtime.Claimed, error) {
	if t.claiming(c.ID) && t.variant != GatelessClaims {
		return nil, runtime.Claimed{}, runtime.ErrRowLocked
	}
	now := t.clock()
	if r := t.at(c.ID); r != nil {
		return nil, claimed(r, now), nil
	}
	tx := &transaction{table: t, claim: &c, row: &row{}, fence: runtime.Fence{ID: c.ID, Generation: 1, Owner: c.Owner}}
	t.reset(tx.row, c, 1, now, now)
	t.unseen[t.key(c.ID)] = tx
	t.note(Event{Kind: Opened, Clock: now, Fence: tx.fence, Terms: c.Terms, Fencing: now})
	return tx, claimed(tx.row, now), nil
}

// claiming says whether a transaction that has not ended claims a key.
func (t *table) claiming(id runtime.ID) bool { return t.unseen[t.key(id)] != nil }

// alive is nil while a statement of ours can be executed in it.
func (x *transaction) alive() error {
	switch {
	case x.lost:
		return runtime.ErrUnavailable
	case x.ended:
		return runtime.ErrTxEnded
	}
	return nil
}

func (x *transaction) complete(c runtime.Completion) (bool, error) {
	switch err := x.alive(); {
	case x.unseen(err):
		return x.table.complete(c)
	case err != nil:
		return false, err
	case x.failed:
		return false, runtime.ErrTxFailed
	}
	x.spent = true
	if refused(c.Answer) {
		return false, errRefused
	}
	if x.claim == nil && x.table.held(c.Fence) == nil {
		return false, nil
	}
	if x.table.variant == CompletionOutsideTx && x.claim == nil {
		x.table.store(x.row, c, x.table.clock())
		return true, nil
	}
	x.completion, x.completed = &c, x.table.clock()
	return true, nil
}

// undo is a rollback to the savepoint behind the claim.
func (x *transaction) undo() error {
	if err := x.alive(); err != nil && !x.unseen(err) {
		return err
	}
	if x.spent {
		return fmt.Errorf("%w: the savepoint is not there", runtime.ErrTxEnded)
	}
	if x.table.variant != EmptyUndo {
		x.effect = false
	}
	x.failed = false
	return nil
}

func (x *transaction) commit() error {
	switch {
	case x.ended && x.table.variant == UnseenEnd:
		return nil
	case x.ended:
		return runtime.ErrUnavailable
	}
	x.end()
	if x.doomed {
		x.table.note(Event{Kind: Conflict, Request: x.request, Text: "at the commit"})
		return runtime.ErrTxConflict
	}
	x.table.wrote(x.row)
	if x.claim != nil {
		x.table.rows[x.table.key(x.fence.ID)] = x.row
		x.table.note(Event{Kind: Inserted, Request: x.request, Clock: x.table.clock(), Fence: x.fence, Fencing: x.row.ClaimedAt, Text: atCommit})
	}
	if x.effect {
		x.stands()
	}
	if x.completion != nil {
		x.table.store(x.row, *x.completion, x.completed)
	}
	return nil
}

// atCommit marks claims that were made in a transaction.
const atCommit = "at the commit"

// stands tells of the effect.
func (x *transaction) stands() {
	x.table.note(Event{Kind: Effect, Request: x.request, Clock: x.table.clock(), Fence: x.fence, ByHand: x.byHand})
}

func (x *transaction) rollback() error {
	if err := x.alive(); x.unseen(err) {
		return nil
	} else if err != nil {
		return err
	}
	x.end()
	if x.table.variant == KeptEffect && x.failed {
		x.stands()
	}
	return nil
}

// give is the server's rollback of a transaction whose connection is lost.
func (x *transaction) give() error {
	if !x.ended {
		x.end()
	}
	return nil
}

// end unlocks the row and the key.
func (x *transaction) end() {
	x.ended = true
	if x.row.lock == x {
		x.row.lock = nil
	}
	if key := x.table.key(x.fence.ID); x.table.unseen[key] == x {
		delete(x.table.unseen, key)
	}
}

// lose breaks the connection. With it goes what could have told the ledger
// that the handler has sent COMMIT or ROLLBACK as SQL.
func (x *transaction) lose() {
	if !x.lost && x.byHand && !x.closed && !x.told {
		x.table.note(Event{Kind: Hidden, Request: x.request})
	}
	x.lost = true
}

// unseen is the mistake of a ledger that does not notice that a transaction
// had ended.
func (x *transaction) unseen(err error) bool {
	return x.table.variant == UnseenEnd && errors.Is(err, runtime.ErrTxEnded)
}
