package sim

import "github.com/idemgen/idemgen/runtime"

// transaction is the model of a handler's transaction: what it writes stands
// when it commits, and its row is locked from the first statement on.
type transaction struct {
	table      *table
	process    *process
	row        *row
	fence      runtime.Fence
	effect     bool // the handler has written
	completion *runtime.Completion
	completed  int64 // when Complete ran
	ended      bool
	// lost says that its connection is: no statement reaches it any more, and
	// the server rolls it back when it notices.
	lost   bool
	missed bool // the server is about to notice
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

func (x *transaction) complete(c runtime.Completion) (bool, error) {
	if x.ended || x.lost {
		return false, runtime.ErrUnavailable
	}
	if refused(c.Answer) {
		return false, errRefused
	}
	if x.table.held(c.Fence) == nil {
		return false, nil
	}
	if x.table.variant == CompletionOutsideTx {
		x.table.store(x.row, c, x.table.clock())
		return true, nil
	}
	x.completion, x.completed = &c, x.table.clock()
	return true, nil
}

func (x *transaction) commit() error {
	if x.ended {
		return runtime.ErrUnavailable
	}
	x.end()
	if x.effect {
		x.table.note(Event{Kind: Effect, Clock: x.table.clock(), Fence: x.fence})
	}
	if x.completion != nil {
		x.table.store(x.row, *x.completion, x.completed)
	}
	return nil
}

func (x *transaction) rollback() error {
	if x.ended || x.lost {
		return runtime.ErrUnavailable
	}
	x.end()
	return nil
}

// give is the server's rollback of a transaction whose connection is lost.
func (x *transaction) give() error {
	if !x.ended {
		x.end()
	}
	return nil
}

// end unlocks the row.
func (x *transaction) end() {
	x.ended = true
	if x.row.lock == x {
		x.row.lock = nil
	}
}
