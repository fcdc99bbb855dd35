package sim

import "context"

// endByHand is what no handler may do: it ends its transaction itself, by the
// client's call or by SQL. After ROLLBACK as SQL it goes on and writes, outside
// of any transaction.
func (r *request) endByHand(tx *transaction) {
	w := r.world
	w.note(Event{Kind: EndedByHand, Request: r.n, Text: string(r.outcome)})
	tx.byHand, tx.closed = true, r.outcome == commitCalled || r.outcome == rollbackCalled
	send := func(name string, run func() error) error {
		s := &statement{name: name, process: r.process, request: r, tx: tx, run: run, commits: name == commitByHand}
		return w.send(context.Background(), s)
	}
	switch r.outcome {
	case commitCalled, commitSent:
		send(commitByHand, tx.commit)
	case rollbackCalled:
		send("rollback by hand", tx.give)
	case rollbackSent:
		if send("rollback by hand", tx.give) == nil {
			send("write by hand", func() error { tx.stands(); return nil })
		}
	}
}

const commitByHand = "commit by hand"

// openOf counts the transactions of a request that have not ended, but for its
// handler's own.
func (w *world) openOf(r *request, own *transaction) (open int) {
	for _, tx := range w.open {
		if tx.request == r.n && tx != own && !tx.ended {
			open++
		}
	}
	return open
}
