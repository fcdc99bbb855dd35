package pgxledger

import (
	"context"

	"github.com/idemgen/idemgen/runtime/internal/sqlcore"
)

// undone runs writes in a transaction that it rolls back.
func (l *Ledger) undone(ctx context.Context, write func(context.Context, DBTX) error) error {
	tx, err := l.pool.Begin(ctx)
	if err != nil {
		return sqlcore.ConnectError{Err: err}
	}
	defer tx.Rollback(ctx)
	return write(ctx, unprepared{tx, nil})
}
