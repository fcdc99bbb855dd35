package sqlledger

import "context"

// undone runs writes in a transaction that it rolls back.
func (l *Ledger) undone(ctx context.Context, write func(context.Context, DBTX) error) error {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return write(ctx, l.in(tx))
}
