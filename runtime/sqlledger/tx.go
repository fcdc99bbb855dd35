package sqlledger

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/internal/sqlcore"
)

// savepoint opens every handler's transaction. It tells whether the
// transaction is still the one that was begun: on every engine, releasing it
// or rolling back to it fails when it is gone. The name is reserved.
const savepoint = "idemgen_handler"

// Begin implements [runtime.TxLedger]. The transaction keeps one connection
// until it ends.
func (l *Ledger) Begin(ctx context.Context, f runtime.Fence, lease time.Duration) (begun runtime.Tx[*sql.Tx], held bool, err error) {
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
	return l.open(ctx, lease, func(ctx context.Context, begun *sql.Tx) (bool, error) {
		n, err := l.Statements.Lock(ctx, l.in(begun), l.FenceParams(f))
		return n > 0, err
	})
}

// BeginOnce implements [runtime.OnceLedger]. The transaction keeps one
// connection until it ends.
func (l *Ledger) BeginOnce(ctx context.Context, c runtime.Claim) (begun runtime.OnceTx[*sql.Tx], claimed runtime.Claimed, won bool, err error) {
	err = l.Retry(ctx, "begin once", func(ctx context.Context, _ int) error {
		t, ok, err := l.open(ctx, c.Lease, func(ctx context.Context, begun *sql.Tx) (won bool, err error) {
			claimed, won, err = l.InsertIn(ctx, l.in(begun), c)
			return won, err
		})
		if ok {
			begun, won = t, true
		}
		return err
	})
	return begun, claimed, won && err == nil, err
}

// open opens a transaction whose first statement is a write of ours: it locks
// the row, and on SQLite it makes the transaction the file's writer from the
// start.
func (l *Ledger) open(ctx context.Context, lease time.Duration, first func(context.Context, *sql.Tx) (bool, error)) (*tx, bool, error) {
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return nil, false, sqlcore.ConnectError{Err: err}
	}
	// A context that ends would make database/sql roll back by itself, behind
	// the handler's back. Until the handler has the transaction it ends with
	// the limit all the same: a driver that begins as a writer waits for the
	// lock here, one of SQLite's for a minute where nothing is set.
	lifetime, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, end)
	t := &tx{ledger: l, conn: conn, release: end}
	begun, err := conn.BeginTx(lifetime, nil)
	if err != nil {
		if l.Engine.Passing(err) {
			t.end(nil) // BEGIN did nothing
		} else {
			t.end(err)
		}
		return nil, false, err
	}
	t.tx = begun
	ok, err := first(ctx, begun)
	if err == nil && ok {
		_, err = begun.ExecContext(ctx, l.Engine.Opening(savepoint, lease))
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil || !ok {
		t.close(ctx, "ROLLBACK", begun.Rollback)
		return nil, false, err
	}
	return t, true, nil
}

var _ runtime.ConflictTeller = (*tx)(nil)

// in is a handler's transaction for our own statements. Where names get lost they
// are not prepared: a failure for want of one would cost the handler's work.
func (l *Ledger) in(tx *sql.Tx) DBTX {
	if l.Engine.Pooled {
		return spelled{DBTX: tx, engine: l.Engine, unnamed: l.unnamed}
	}
	return tx
}

// tx is one handler's transaction.
type tx struct {
	ledger   *Ledger
	conn     *sql.Conn
	tx       *sql.Tx
	release  context.CancelFunc // of the context that tx was begun under
	released bool               // the savepoint: only our own statements follow
	broken   error              // why the connection is not to be used again
	// completes is the claim whose answer the transaction stores.
	completes runtime.Fence
}

// Handle implements [runtime.Tx].
func (t *tx) Handle() *sql.Tx { return t.tx }

// Complete implements [runtime.Tx].
func (t *tx) Complete(ctx context.Context, c runtime.Completion) (bool, error) {
	if !t.released {
		if err := t.onSavepoint(ctx, t.ledger.Engine.Closing(savepoint)); err != nil {
			return false, t.ledger.Engine.SavepointError(err)
		}
		t.released = true
	}
	ctx, cancel := context.WithTimeout(ctx, t.ledger.Limit)
	defer cancel()
	stands, err := t.ledger.CompleteIn(ctx, t.ledger.in(t.tx), c)
	t.completes = c.Fence
	// A handler may have left the connection in another database, or as another
	// role (USE and SET ROLE on MySQL): it is closed then.
	t.broken = err
	return stands, err
}

// Commit implements [runtime.Tx].
func (t *tx) Commit(ctx context.Context) error {
	err := t.close(ctx, "COMMIT", t.tx.Commit)
	return t.ledger.Committed(t.completes, err)
}

// Undo implements [runtime.OnceTx].
func (t *tx) Undo(ctx context.Context) error {
	for _, statement := range []string{"ROLLBACK TO SAVEPOINT " + savepoint, "RELEASE SAVEPOINT " + savepoint} {
		if err := t.onSavepoint(ctx, statement); err != nil {
			return t.ledger.Engine.SavepointError(err)
		}
	}
	t.released = true
	return nil
}

// Rollback implements [runtime.Tx].
func (t *tx) Rollback(ctx context.Context) error {
	var gone error
	undone := false
	if !t.released {
		if teller, ok := t.ledger.Statements.(lastTeller); ok {
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.ledger.Limit)
			undone = teller.conflicted(limited, t.tx)
			cancel()
		}
		gone = t.onSavepoint(ctx, "ROLLBACK TO SAVEPOINT "+savepoint)
	}
	t.broken = errors.Join(t.broken, gone)
	err := t.close(ctx, "ROLLBACK", t.tx.Rollback)
	if gone = t.ledger.Engine.SavepointError(gone); gone != nil && !(undone && errors.Is(gone, runtime.ErrTxEnded)) {
		return gone
	}
	return t.ledger.Engine.Classify(err)
}

// Conflict implements [runtime.ConflictTeller]. The error must be of the kind,
// and the database must say of this transaction that it has met one: by what the
// last statement met where the server keeps that, and otherwise by refusing
// every further statement. SQLite does neither, and need not: a handler's
// transaction is its file's only writer from its first statement on, so that no
// lock of that file can be refused to it.
func (t *tx) Conflict(ctx context.Context, err error) bool {
	if !t.ledger.Engine.MayConflict(err) || t.ledger.Engine.OneWriter {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.ledger.Limit)
	defer cancel()
	if teller, ok := t.ledger.Statements.(lastTeller); ok {
		return teller.conflicted(ctx, t.tx)
	}
	_, err = t.tx.ExecContext(ctx, "SELECT 1")
	return t.ledger.Engine.Is(err, sqlcore.Failed)
}

// lastTeller is implemented by statements of engines whose server keeps what its
// last statement met with. It tells whether that was a conflict, with which the
// server may have rolled the whole transaction back, after which statements
// autocommit: it was the last that happened, so that nothing of it stands.
type lastTeller interface {
	conflicted(ctx context.Context, tx *sql.Tx) bool
}

// onSavepoint runs a statement on the savepoint, under the ledger's limit alone:
// a caller's context that has ended must not hide that the transaction is gone.
func (t *tx) onSavepoint(ctx context.Context, statement string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.ledger.Limit)
	defer cancel()
	_, err := t.tx.ExecContext(ctx, statement)
	return err
}

// end gives the connection back: a transaction left open on it would swallow the
// next one.
func (t *tx) end(err error) {
	giveBack(t.conn, errors.Join(t.broken, err))
	t.release()
}

// close ends the transaction and gives its connection back. A COMMIT may wait for
// a standby, or for a lock on the whole database, and database/sql gives it no
// limit: so it is left behind when the ledger's limit is over. Drivers that watch
// the context which the transaction was begun under give up then. Others are sent
// the statement as text, which has a limit; where even that has none, the connection
// is closed when it comes back.
func (t *tx) close(ctx context.Context, verb string, end func() error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.ledger.Limit)
	defer cancel()
	ended := make(chan error, 2)
	go func() {
		if !t.ledger.Engine.EndByText {
			err := end()
			t.end(err)
			ended <- err
			return
		}
		_, err := t.tx.ExecContext(ctx, verb)
		ended <- err
		// There is nothing left to roll back, or nothing that could be committed.
		t.end(errors.Join(err, t.tx.Rollback()))
	}()
	select {
	case err := <-ended:
		if err == nil {
			err = ctx.Err() // a driver may take a COMMIT that was cancelled for one that stands
		}
		return err
	case <-ctx.Done():
		t.release()
		return ctx.Err()
	}
}
