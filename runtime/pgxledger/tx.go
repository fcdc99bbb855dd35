package pgxledger

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemgen/idemgen/runtime"
)

// savepoint opens every handler's transaction. It tells whether the
// transaction is still the one that was begun: releasing it or rolling back to
// it fails when it is gone. The name is reserved.
const savepoint = "idemgen_handler"

// lockLimit bounds the wait for the row of a transaction that begins. It is
// the limit of the emitted statements.
const lockLimit = "2s"

// Begin implements [runtime.TxLedger]. The transaction keeps one connection
// until it ends; PostgreSQL ends it when it sits idle for longer than the
// lease, so that a paused or half-open owner frees its row.
func (l *Ledger) Begin(ctx context.Context, f runtime.Fence, lease time.Duration) (begun runtime.Tx[pgx.Tx], held bool, err error) {
	err = l.Retry(ctx, "begin", func(ctx context.Context, _ int) error {
		t, ok, err := l.begin(ctx, f, lease)
		if ok {
			begun, held = t, true
		}
		return err
	})
	return begun, held && err == nil, err
}

func (l *Ledger) begin(ctx context.Context, f runtime.Fence, lease time.Duration) (*tx, bool, error) {
	conn, err := l.pool.Acquire(ctx)
	if err != nil {
		return nil, false, err
	}
	// Read committed, whatever the session's default is: the fenced write must
	// see what was committed while it waited for the row.
	begun, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		conn.Release()
		return nil, false, err
	}
	t := &tx{ledger: l, conn: conn, tx: begun}
	ok, err := t.open(ctx, f, lease)
	if err != nil || !ok {
		begun.Rollback(context.WithoutCancel(ctx))
		conn.Release()
		return nil, false, err
	}
	return t, true, nil
}

// open sets the transaction's limits, tests the fence and opens the savepoint.
// The lock limit is put back, or the handler's statements would inherit it.
func (t *tx) open(ctx context.Context, f runtime.Fence, lease time.Duration) (bool, error) {
	var before string
	err := t.tx.QueryRow(ctx, `SELECT current_setting('lock_timeout')`).Scan(&before)
	if err != nil {
		return false, err
	}
	_, err = t.tx.Exec(ctx, `SELECT set_config('idle_in_transaction_session_timeout', $1, true), set_config('lock_timeout', $2, true)`,
		strconv.FormatInt(lease.Milliseconds(), 10), lockLimit)
	if err != nil {
		return false, err
	}
	n, err := t.ledger.Statements.Lock(ctx, t.tx, t.ledger.FenceParams(f))
	if err != nil || n == 0 {
		return false, err
	}
	if _, err := t.tx.Exec(ctx, `SELECT set_config('lock_timeout', $1, true)`, before); err != nil {
		return false, err
	}
	_, err = t.tx.Exec(ctx, "SAVEPOINT "+savepoint)
	return err == nil, err
}

// tx is one handler's transaction.
type tx struct {
	ledger   *Ledger
	conn     *pgxpool.Conn
	tx       pgx.Tx
	released bool // the savepoint: only our own statements follow
}

// Handle implements [runtime.Tx].
func (t *tx) Handle() pgx.Tx { return t.tx }

// Complete implements [runtime.Tx].
func (t *tx) Complete(ctx context.Context, c runtime.Completion) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.ledger.Limit)
	defer cancel()
	if !t.released {
		if err := t.gone(); err != nil {
			return false, err
		}
		if _, err := t.tx.Exec(ctx, "RELEASE SAVEPOINT "+savepoint); err != nil {
			return false, t.ledger.Engine.SavepointError(closed(err))
		}
		t.released = true
	}
	n, err := t.ledger.Statements.Complete(ctx, t.tx, t.ledger.CompleteParams(c))
	return n > 0, t.ledger.Engine.Classify(err)
}

// gone says that the transaction is none any more, by what the connection
// knows of it.
func (t *tx) gone() error {
	if !t.conn.Conn().IsClosed() && t.conn.Conn().PgConn().TxStatus() == 'I' {
		return fmt.Errorf("%w: the connection is in no transaction", runtime.ErrTxEnded)
	}
	return nil
}

// Commit implements [runtime.Tx].
func (t *tx) Commit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.ledger.Limit)
	defer cancel()
	defer t.conn.Release()
	return t.ledger.Engine.Classify(t.tx.Commit(ctx))
}

// Rollback implements [runtime.Tx].
func (t *tx) Rollback(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.ledger.Limit)
	defer cancel()
	defer t.conn.Release()
	var gone error
	if !t.released {
		if gone = t.gone(); gone == nil {
			_, err := t.tx.Exec(ctx, "ROLLBACK TO SAVEPOINT "+savepoint)
			gone = t.ledger.Engine.SavepointError(closed(err))
		}
	}
	err := t.tx.Rollback(ctx)
	if gone != nil {
		return gone
	}
	return t.ledger.Engine.Classify(err)
}

// closed makes an error that pgx itself gives for a transaction which the
// handler has ended look like the database's: no reason to try again.
func closed(err error) error {
	if errors.Is(err, pgx.ErrTxClosed) {
		return errors.New("the handler ended the transaction")
	}
	return err
}
