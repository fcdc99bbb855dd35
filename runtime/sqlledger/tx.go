package sqlledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// savepoint opens every handler's transaction. It tells whether the
// transaction is still the one that was begun: on every engine, releasing it
// or rolling back to it fails when it is gone. The name is reserved.
const savepoint = "idemgen_handler"

// Begin implements [runtime.TxLedger]. The transaction keeps one connection
// until it ends.
func (l *Ledger) Begin(ctx context.Context, f runtime.Fence, _ time.Duration) (begun runtime.Tx[*sql.Tx], held bool, err error) {
	err = l.Retry(ctx, "begin", func(ctx context.Context, _ int) error {
		t, ok, err := l.begin(ctx, f)
		if ok {
			begun, held = t, true
		}
		return err
	})
	return begun, held && err == nil, err
}

func (l *Ledger) begin(ctx context.Context, f runtime.Fence) (*tx, bool, error) {
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return nil, false, err
	}
	// A context that ends would make database/sql roll back by itself, behind
	// the handler's back.
	begun, err := conn.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		conn.Close()
		return nil, false, err
	}
	t := &tx{ledger: l, conn: conn, tx: begun}
	// The fenced write comes first: it locks the row, and on SQLite it makes
	// the transaction the file's writer from the start.
	n, err := l.Statements.Lock(ctx, begun, l.FenceParams(f))
	if err == nil && n > 0 {
		_, err = begun.ExecContext(ctx, "SAVEPOINT "+savepoint)
	}
	if err != nil || n == 0 {
		t.end(begun.Rollback())
		return nil, false, err
	}
	return t, true, nil
}

// tx is one handler's transaction.
type tx struct {
	ledger   *Ledger
	conn     *sql.Conn
	tx       *sql.Tx
	released bool // the savepoint: only our own statements follow
}

// Handle implements [runtime.Tx].
func (t *tx) Handle() *sql.Tx { return t.tx }

// Complete implements [runtime.Tx].
func (t *tx) Complete(ctx context.Context, c runtime.Completion) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, t.ledger.Limit)
	defer cancel()
	if _, err := t.tx.ExecContext(ctx, "RELEASE SAVEPOINT "+savepoint); err != nil {
		return false, t.ended(err)
	}
	t.released = true
	n, err := t.ledger.Statements.Complete(ctx, t.tx, t.ledger.CompleteParams(c))
	return n > 0, t.ledger.Engine.Classify(err)
}

// Commit implements [runtime.Tx].
func (t *tx) Commit(context.Context) error {
	err := t.tx.Commit()
	t.end(err)
	return t.ledger.Engine.Classify(err)
}

// Rollback implements [runtime.Tx].
func (t *tx) Rollback(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.ledger.Limit)
	defer cancel()
	var gone error
	if !t.released {
		_, gone = t.tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT "+savepoint)
	}
	err := t.tx.Rollback()
	t.end(errors.Join(gone, err))
	if gone != nil {
		return t.ended(gone)
	}
	return t.ledger.Engine.Classify(err)
}

// ended is the class of an error on the savepoint: the transaction is gone,
// unless the database cannot be reached, which ends it without our doing.
func (t *tx) ended(err error) error {
	if t.ledger.Engine.Unreachable(err) {
		return t.ledger.Engine.Classify(err)
	}
	return fmt.Errorf("%w: %w", runtime.ErrTxEnded, err)
}

// end gives the connection back. After an error its state is unknown, and it
// is closed instead: a transaction left open on it would swallow the next one.
func (t *tx) end(err error) {
	if err != nil {
		t.conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	t.conn.Close()
}
