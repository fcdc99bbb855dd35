package ledgertest

import (
	"context"
	"database/sql"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// Handle is what a handler does with its transaction.
type Handle interface {
	Exec(ctx context.Context, statement string) error
	Commit(ctx context.Context) error
	Rollback(ctx context.Context) error
}

type sqlHandle struct{ tx *sql.Tx }

func (h sqlHandle) Exec(ctx context.Context, statement string) error {
	_, err := h.tx.ExecContext(ctx, statement)
	return err
}

func (h sqlHandle) Commit(context.Context) error   { return h.tx.Commit() }
func (h sqlHandle) Rollback(context.Context) error { return h.tx.Rollback() }

// handled is a ledger whose transactions the suite can use.
type handled[T any] struct {
	runtime.TxLedger[T]
	handle func(T) Handle
}

// Begin implements [runtime.TxLedger].
func (l handled[T]) Begin(ctx context.Context, f runtime.Fence, lease time.Duration) (runtime.Tx[Handle], bool, error) {
	tx, held, err := l.TxLedger.Begin(ctx, f, lease)
	if tx == nil {
		return nil, held, err
	}
	return handledTx[T]{tx, l.handle}, held, err
}

type handledTx[T any] struct {
	runtime.Tx[T]
	handle func(T) Handle
}

// Handle implements [runtime.Tx].
func (t handledTx[T]) Handle() Handle { return t.handle(t.Tx.Handle()) }

// Conflict implements [runtime.ConflictTeller].
func (t handledTx[T]) Conflict(ctx context.Context, err error) bool {
	teller, ok := t.Tx.(runtime.ConflictTeller)
	return ok && teller.Conflict(ctx, err)
}
