package runtime

import (
	"context"
	"sync"

	"github.com/idemgen/idemgen/runtime/internal/boundary"
)

// The statements of a request are points at which tests end a process, see
// package idemtest. Outside of them nothing here is in use.

// stepped is a ledger whose statements are points of their requests. It was
// made after every other process of its table had died, so that the leases of
// claims which it did not make are over.
type stepped struct {
	Ledger
	mu  sync.Mutex
	own map[Owner]bool
}

func newStepped(l Ledger) *stepped { return &stepped{Ledger: l, own: map[Owner]bool{}} }

// made remembers an owner of this process.
func (l *stepped) made(o Owner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.own[o] = true
}

func (l *stepped) isOwn(o Owner) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.own[o]
}

// around calls a statement between its two points.
func around[T any](ctx context.Context, name string, statement func() (T, bool, error)) (T, bool, error) {
	boundary.Reach(ctx, "before the ledger's "+name)
	defer boundary.Reach(ctx, "after the ledger's "+name)
	return statement()
}

// without is [around] for statements that return no more than whether the
// fence held.
func without(ctx context.Context, name string, statement func() (bool, error)) (bool, error) {
	_, ok, err := around(ctx, name, func() (struct{}, bool, error) {
		ok, err := statement()
		return struct{}{}, ok, err
	})
	return ok, err
}

func (l *stepped) Insert(ctx context.Context, c Claim) (Claimed, bool, error) {
	l.made(c.Owner)
	return around(ctx, "insert", func() (Claimed, bool, error) { return l.Ledger.Insert(ctx, c) })
}

func (l *stepped) Read(ctx context.Context, id ID) (Row, bool, error) {
	return around(ctx, "read", func() (Row, bool, error) {
		row, found, err := l.Ledger.Read(ctx, id)
		if err != nil || !found || row.Completed || row.LeaseUntil <= row.Now || l.isOwn(row.Owner) {
			return row, found, err
		}
		if _, err := l.Ledger.EndLease(ctx, Fence{ID: id, Generation: row.Generation, Owner: row.Owner}); err != nil {
			return Row{}, false, err
		}
		return l.Ledger.Read(ctx, id)
	})
}

func (l *stepped) TakeOver(ctx context.Context, seen Fence, c Claim) (Claimed, bool, error) {
	l.made(c.Owner)
	return around(ctx, "takeover", func() (Claimed, bool, error) { return l.Ledger.TakeOver(ctx, seen, c) })
}

func (l *stepped) Reuse(ctx context.Context, seen Fence, c Claim) (Claimed, bool, error) {
	l.made(c.Owner)
	return around(ctx, "reuse", func() (Claimed, bool, error) { return l.Ledger.Reuse(ctx, seen, c) })
}

func (l *stepped) Renew(ctx context.Context, f Fence, terms Terms) (Claimed, bool, error) {
	return around(ctx, "renewal", func() (Claimed, bool, error) { return l.Ledger.Renew(ctx, f, terms) })
}

func (l *stepped) Complete(ctx context.Context, c Completion) (bool, error) {
	return without(ctx, "completion", func() (bool, error) { return l.Ledger.Complete(ctx, c) })
}

func (l *stepped) Release(ctx context.Context, f Fence) (bool, error) {
	return without(ctx, "release", func() (bool, error) { return l.Ledger.Release(ctx, f) })
}

func (l *stepped) EndLease(ctx context.Context, f Fence) (bool, error) {
	return without(ctx, "end of a lease", func() (bool, error) { return l.Ledger.EndLease(ctx, f) })
}

// reachClaim says that a claim was won and that nothing has run under it.
func (g *Guard) reachClaim(ctx context.Context, h *held, p plan) {
	if !boundary.Armed() {
		return
	}
	point := boundary.Point{Name: "after the claim", Transaction: p.prepare != nil, Abandon: g.abandoned(h)}
	if h.open {
		point.Abandon = func(ctx context.Context) error { p.close(ctx); return nil }
	}
	boundary.ReachPoint(ctx, point)
}

// reachOutcome says that the work is done and that its answer is not stored.
func (g *Guard) reachOutcome(ctx context.Context, h *held, e *execution) {
	if !boundary.Armed() {
		return
	}
	point := boundary.Point{Name: boundary.AfterHandler, Transaction: e.settle != nil}
	if !point.Transaction {
		point.Abandon = g.abandoned(h)
	}
	boundary.ReachPoint(ctx, point)
}

// abandoned ends the lease of a claim whose process is taken for dead.
func (g *Guard) abandoned(h *held) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := g.engine.ledger.EndLease(ctx, h.fence)
		return err
	}
}

// steppedTx is a transaction whose end is made of points.
type steppedTx struct{ ending }

func (t steppedTx) Complete(ctx context.Context, c Completion) (bool, error) {
	return without(ctx, "completion", func() (bool, error) { return t.ending.Complete(ctx, c) })
}

func (t steppedTx) Commit(ctx context.Context) error {
	return end(ctx, "commit", t.ending.Commit)
}

func (t steppedTx) Rollback(ctx context.Context) error {
	return end(ctx, "rollback", t.ending.Rollback)
}

func end(ctx context.Context, name string, statement func(context.Context) error) error {
	_, err := without(ctx, name, func() (bool, error) { return true, statement(ctx) })
	return err
}

// steppedOnceTx is [steppedTx] for a transaction that carries its claim.
type steppedOnceTx struct {
	steppedTx
	undo func(context.Context) error
}

func (t steppedOnceTx) Undo(ctx context.Context) error { return end(ctx, "savepoint", t.undo) }
