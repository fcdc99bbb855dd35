package pgxledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/internal/sqlcore"
)

// savepoint opens every handler's transaction. It tells whether the
// transaction is still the one that was begun: releasing it or rolling back to
// it fails when it is gone. The name is reserved.
const savepoint = "idemgen_handler"

// Begin implements [runtime.TxLedger]. The transaction has the isolation level
// that is the session's default, keeps one connection until it ends, and ends
// when it sits idle for longer than the lease.
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
	// One round trip opens the transaction. What follows is the handler's part,
	// and the fence's test is the first of it: no snapshot is older.
	return l.open(ctx, l.Engine.Opening(savepoint, lease), func(ctx context.Context, t *tx) (bool, error) {
		n, err := l.Statements.Lock(ctx, t.db(), l.FenceParams(f))
		return n > 0, err
	})
}

// BeginOnce implements [runtime.OnceLedger]. The transaction is as that of
// Begin.
func (l *Ledger) BeginOnce(ctx context.Context, c runtime.Claim) (begun runtime.OnceTx[pgx.Tx], claimed runtime.Claimed, won bool, err error) {
	err = l.Retry(ctx, "begin once", func(ctx context.Context, _ int) error {
		t, ok, err := l.open(ctx, l.Engine.Settings(c.Lease), func(ctx context.Context, t *tx) (won bool, err error) {
			if claimed, won, err = l.InsertIn(ctx, t.db(), c); err != nil || !won {
				return false, err
			}
			_, err = t.tx.Exec(ctx, "SAVEPOINT "+savepoint)
			return err == nil, err
		})
		if ok {
			begun, won = t, true
		}
		return err
	})
	return begun, claimed, won && err == nil, err
}

// open opens a transaction with settings and a first write of ours.
func (l *Ledger) open(ctx context.Context, settings string, first func(context.Context, *tx) (bool, error)) (*tx, bool, error) {
	conn, err := l.pool.Acquire(ctx)
	if err != nil {
		return nil, false, sqlcore.ConnectError{Err: err}
	}
	begun, err := conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: "BEGIN; " + settings})
	if err != nil {
		conn.Release()
		return nil, false, err
	}
	t := &tx{ledger: l, conn: conn, tx: begun}
	if ok, err := first(ctx, t); err != nil || !ok {
		// What is left of it is undone with the connection at the latest.
		begun.Rollback(ctx)
		conn.Release()
		return nil, false, err
	}
	return t, true, nil
}

var _ runtime.ConflictTeller = (*tx)(nil)

// tx is one handler's transaction.
type tx struct {
	ledger   *Ledger
	conn     *pgxpool.Conn
	tx       pgx.Tx
	released bool // the savepoint: only our own statements follow
	// completes is the claim whose answer the transaction stores.
	completes runtime.Fence
}

// db is the transaction for our own statements. They are not prepared: a
// failure for want of a name would cost the handler's work.
func (t *tx) db() DBTX {
	return unprepared{t.tx, nil}
}

// Handle implements [runtime.Tx].
func (t *tx) Handle() pgx.Tx { return t.tx }

// Complete implements [runtime.Tx].
func (t *tx) Complete(ctx context.Context, c runtime.Completion) (bool, error) {
	if !t.released {
		if err := t.onSavepoint(ctx, t.ledger.Engine.Closing(savepoint)); err != nil {
			return false, err
		}
		t.released = true
	}
	if err := ctx.Err(); err != nil {
		return false, t.ledger.Engine.Classify(err)
	}
	ctx, cancel := t.limited(ctx)
	defer cancel()
	t.completes = c.Fence
	return t.ledger.CompleteIn(ctx, t.db(), c)
}

// Commit implements [runtime.Tx].
func (t *tx) Commit(ctx context.Context) error {
	ctx, cancel := t.limited(ctx)
	defer cancel()
	defer t.conn.Release()
	return t.ledger.Committed(t.completes, t.tx.Commit(ctx))
}

// Undo implements [runtime.OnceTx].
func (t *tx) Undo(ctx context.Context) error {
	for _, statement := range []string{"ROLLBACK TO SAVEPOINT " + savepoint, "RELEASE SAVEPOINT " + savepoint} {
		if err := t.onSavepoint(ctx, statement); err != nil {
			return err
		}
	}
	t.released = true
	return nil
}

// Rollback implements [runtime.Tx].
func (t *tx) Rollback(ctx context.Context) error {
	ctx, cancel := t.limited(ctx)
	defer cancel()
	// A connection that is in a transaction, or is broken, is not used again.
	defer t.conn.Release()
	var gone error
	if !t.released {
		gone = t.onSavepoint(ctx, "ROLLBACK TO SAVEPOINT "+savepoint)
	}
	err := t.tx.Rollback(ctx)
	if gone != nil && !errors.Is(gone, runtime.ErrTxFailed) {
		return gone
	}
	return t.ledger.Engine.Classify(err)
}

// Conflict implements [runtime.ConflictTeller]. A statement that fails fails its
// transaction, of which the connection keeps account.
func (t *tx) Conflict(_ context.Context, err error) bool {
	conn := t.conn.Conn().PgConn()
	// Not the ledger's engine, which would learn of others' prepared statements.
	return sqlcore.Postgres.MayConflict(err) && !conn.IsClosed() && conn.TxStatus() == 'E'
}

// limited is the context of the transaction's own statements. One that ended
// in the middle of them would cost the connection, and the transaction with it.
func (t *tx) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), t.ledger.Limit)
}

// onSavepoint runs a statement on the savepoint and says what its failure
// means. A caller's context that has ended must not hide that.
func (t *tx) onSavepoint(ctx context.Context, statement string) error {
	conn := t.conn.Conn().PgConn()
	switch {
	case conn.IsBusy():
		return fmt.Errorf("%w: the handler has left rows open on it", runtime.ErrTxFailed)
	case !conn.IsClosed() && conn.TxStatus() == 'I':
		return fmt.Errorf("%w: the connection is in no transaction", runtime.ErrTxEnded)
	}
	ctx, cancel := t.limited(ctx)
	defer cancel()
	_, err := t.tx.Exec(ctx, statement)
	if errors.Is(err, pgx.ErrTxClosed) {
		return fmt.Errorf("%w: %w", runtime.ErrTxEnded, err)
	}
	return t.ledger.Engine.SavepointError(err)
}
