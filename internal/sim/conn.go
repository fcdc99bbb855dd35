package sim

import (
	"context"

	"github.com/idemgen/idemgen/runtime"
)

// conn is the ledger as one process sees it: every method is a statement that
// the scheduler executes and answers when it likes, or not.
type conn struct {
	world   *world
	process *process
}

var (
	_ runtime.OnceLedger[*transaction] = (*conn)(nil)
	_ runtime.ConflictTeller           = (*txConn)(nil)
)

// statement makes a statement on behalf of a request: the context's, or, in
// the background, the one whose owner token it carries.
func (c *conn) statement(ctx context.Context, name string, owner runtime.Owner) *statement {
	s := &statement{name: name, process: c.process}
	s.request, _ = ctx.Value(requestKey{}).(*request)
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	if s.request == nil {
		s.request = c.world.owners[owner]
	} else if owner != (runtime.Owner{}) {
		c.world.owners[owner] = s.request
	}
	return s
}

// fenced is a statement that waits for the row's lock.
func (c *conn) fenced(ctx context.Context, name string, id runtime.ID, owner runtime.Owner) *statement {
	s := c.statement(ctx, name, owner)
	s.needs = &id
	return s
}

// ask sends a statement and returns what it found.
func ask[T any](ctx context.Context, w *world, s *statement, run func() (T, bool, error)) (T, bool, error) {
	var value T
	var ok bool
	s.run = func() (err error) {
		value, ok, err = run()
		return err
	}
	if err := w.send(ctx, s); err != nil {
		// The statement may be executed later: its results are not ours.
		var zero T
		return zero, false, err
	}
	return value, ok, nil
}

// Insert implements [runtime.Ledger].
func (c *conn) Insert(ctx context.Context, claim runtime.Claim) (runtime.Claimed, bool, error) {
	s := c.statement(ctx, "insert", claim.Owner)
	s.inserts = &claim.ID
	return ask(ctx, c.world, s, func() (runtime.Claimed, bool, error) {
		claimed, won := c.world.table.insert(claim)
		claim.Again = true // should the statement be repeated
		return claimed, won, nil
	})
}

// Read implements [runtime.Ledger].
func (c *conn) Read(ctx context.Context, id runtime.ID) (runtime.Row, bool, error) {
	return ask(ctx, c.world, c.statement(ctx, "read", runtime.Owner{}), func() (runtime.Row, bool, error) {
		row, found := c.world.table.read(id)
		return row, found, nil
	})
}

// TakeOver implements [runtime.Ledger].
func (c *conn) TakeOver(ctx context.Context, seen runtime.Fence, claim runtime.Claim) (runtime.Claimed, bool, error) {
	return ask(ctx, c.world, c.fenced(ctx, "takeover", claim.ID, claim.Owner), func() (runtime.Claimed, bool, error) {
		claimed, won := c.world.table.takeOver(seen, claim)
		return claimed, won, nil
	})
}

// Reuse implements [runtime.Ledger].
func (c *conn) Reuse(ctx context.Context, seen runtime.Fence, claim runtime.Claim) (runtime.Claimed, bool, error) {
	return ask(ctx, c.world, c.fenced(ctx, "reuse", claim.ID, claim.Owner), func() (runtime.Claimed, bool, error) {
		claimed, won := c.world.table.reuse(seen, claim)
		return claimed, won, nil
	})
}

// Renew implements [runtime.Ledger].
func (c *conn) Renew(ctx context.Context, f runtime.Fence, terms runtime.Terms) (runtime.Claimed, bool, error) {
	return ask(ctx, c.world, c.fenced(ctx, "renew", f.ID, f.Owner), func() (runtime.Claimed, bool, error) {
		claimed, held := c.world.table.renew(f, terms)
		return claimed, held, nil
	})
}

// Complete implements [runtime.Ledger].
func (c *conn) Complete(ctx context.Context, completion runtime.Completion) (bool, error) {
	run := func() (struct{}, bool, error) {
		stands, err := c.world.table.complete(completion)
		return struct{}{}, stands, err
	}
	s := c.fenced(ctx, "complete", completion.ID, completion.Owner)
	background := ctx.Value(requestKey{}) == nil
	switch {
	case c.world.variant == ForgottenCompletion && background:
		return true, nil
	case c.world.variant == AnswerBeforeDurable && !refused(completion.Answer):
		s.unheard = true
		s.run = func() error { _, _, err := run(); return err }
		c.world.arrive(s)
		return true, nil
	}
	_, stands, err := ask(ctx, c.world, s, run)
	return stands, err
}

// Release implements [runtime.Ledger].
func (c *conn) Release(ctx context.Context, f runtime.Fence) (bool, error) {
	_, ok, err := ask(ctx, c.world, c.fenced(ctx, "release", f.ID, f.Owner), func() (struct{}, bool, error) {
		return struct{}{}, c.world.table.release(f), nil
	})
	return ok, err
}

// EndLease implements [runtime.Ledger].
func (c *conn) EndLease(ctx context.Context, f runtime.Fence) (bool, error) {
	_, ok, err := ask(ctx, c.world, c.fenced(ctx, "end lease", f.ID, f.Owner), func() (struct{}, bool, error) {
		return struct{}{}, c.world.table.endLease(f), nil
	})
	return ok, err
}

// Sweep implements [runtime.Ledger], in two steps that anything may come
// between.
func (c *conn) Sweep(ctx context.Context, limit int) (int, error) {
	due, _, err := ask(ctx, c.world, c.statement(ctx, "sweep: find", runtime.Owner{}), func() ([]*row, bool, error) {
		return c.world.table.due(limit), true, nil
	})
	if err != nil || len(due) == 0 {
		return 0, err
	}
	swept, _, err := ask(ctx, c.world, c.statement(ctx, "sweep: clear", runtime.Owner{}), func() (int, bool, error) {
		return c.world.table.sweep(due), true, nil
	})
	return swept, err
}
