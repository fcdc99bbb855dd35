package sim

import (
	"context"
	"errors"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// Begin implements [runtime.TxLedger].
func (c *conn) Begin(ctx context.Context, f runtime.Fence, _ time.Duration) (runtime.Tx[*transaction], bool, error) {
	s := c.fenced(ctx, "begin", f.ID, f.Owner)
	s.opens = true
	tx, ok, err := ask(ctx, c.world, s, func() (*transaction, bool, error) {
		tx := c.world.table.begin(f)
		if tx != nil {
			c.opened(s, tx)
		}
		return tx, tx != nil, nil
	})
	if err != nil || !ok {
		return nil, false, err
	}
	return &txConn{c, tx}, true, nil
}

// CanOnce implements [runtime.OnceLedger].
func (c *conn) CanOnce() bool { return true }

// BeginOnce implements [runtime.OnceLedger]. It does not wait for another
// transaction on the key.
func (c *conn) BeginOnce(ctx context.Context, claim runtime.Claim) (runtime.OnceTx[*transaction], runtime.Claimed, bool, error) {
	type begun struct {
		tx      *transaction
		claimed runtime.Claimed
	}
	s := c.statement(ctx, "begin once", claim.Owner)
	s.opens = true
	b, ok, err := ask(ctx, c.world, s, func() (begun, bool, error) {
		tx, claimed, err := c.world.table.beginOnce(claim)
		if tx != nil {
			c.opened(s, tx)
		}
		return begun{tx, claimed}, tx != nil, err
	})
	if err != nil || !ok {
		return nil, b.claimed, false, err
	}
	return &txConn{c, b.tx}, b.claimed, true, nil
}

// opened notes whose a new transaction is.
func (c *conn) opened(s *statement, tx *transaction) {
	tx.process, tx.request, s.opened = c.process, s.request.number(), tx
	c.world.open = append(c.world.open, tx)
}

// errConflict is what a statement of a handler meets when the database lets
// another transaction win.
var errConflict = errors.New("could not serialize access")

// Conflict implements [runtime.ConflictTeller]: of errors of the same kind, only
// that of its own transaction is one.
func (t *txConn) Conflict(_ context.Context, err error) bool {
	return errors.Is(err, errConflict) && (t.tx.failed || t.conn.world.variant == ForeignConflicts)
}

// txConn is a transaction as its process sees it.
type txConn struct {
	conn *conn
	tx   *transaction
}

func (t *txConn) Handle() *transaction { return t.tx }

func (t *txConn) statement(ctx context.Context, name string) *statement {
	s := t.conn.statement(ctx, name, t.tx.fence.Owner)
	s.tx, s.commits = t.tx, name == commit
	return s
}

func (t *txConn) ask(ctx context.Context, name string, run func() (bool, error)) (bool, error) {
	if t.tx.closed && t.conn.world.variant != UnseenEnd {
		return false, runtime.ErrTxEnded // without a word to the database
	}
	_, ok, err := ask(ctx, t.conn.world, t.statement(ctx, name), func() (struct{}, bool, error) {
		ok, err := run()
		return struct{}{}, ok, err
	})
	if errors.Is(err, runtime.ErrTxEnded) {
		t.tx.told = true
	}
	return ok, err
}

func (t *txConn) Complete(ctx context.Context, c runtime.Completion) (bool, error) {
	return t.ask(ctx, "complete in transaction", func() (bool, error) { return t.tx.complete(c) })
}

func (t *txConn) Commit(ctx context.Context) error {
	w := t.conn.world
	if w.variant == AnswerBeforeCommit && t.tx.claim != nil {
		s := t.statement(ctx, commit)
		s.unheard, s.run, t.tx.lost = true, t.tx.commit, true
		w.arrive(s)
		return nil
	}
	_, err := t.ask(ctx, commit, func() (bool, error) { return true, t.tx.commit() })
	if err != nil && w.variant == UndecidedRetry {
		return runtime.ErrTxConflict
	}
	return err
}

func (t *txConn) Rollback(ctx context.Context) error {
	_, err := t.ask(ctx, "rollback", func() (bool, error) { return true, t.tx.rollback() })
	return err
}

func (t *txConn) Undo(ctx context.Context) error {
	_, err := t.ask(ctx, "undo", func() (bool, error) { return true, t.tx.undo() })
	return err
}

const commit = "commit"
