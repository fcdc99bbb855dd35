package sqlledger

import (
	"context"

	"github.com/idemgen/idemgen/runtime"
)

var _ runtime.OperatorLedger = (*Ledger)(nil)

// Counts implements [runtime.OperatorLedger].
func (l *Ledger) Counts(ctx context.Context) (counts []runtime.Count, err error) {
	err = l.retry(ctx, "counts", func(ctx context.Context, _ int) error {
		rows, err := l.statements.Counts(ctx, l.reader)
		counts = make([]runtime.Count, len(rows))
		for i, row := range rows {
			counts[i] = runtime.Count{Operation: row.Operation, State: runtime.State(row.State), Rows: row.RowCount}
		}
		return err
	})
	return counts, err
}

// Erase implements [runtime.OperatorLedger].
func (l *Ledger) Erase(ctx context.Context, principal string, limit int) (erased int, err error) {
	if limit <= 0 {
		return 0, nil
	}
	err = l.retry(ctx, "erase", func(ctx context.Context, _ int) error {
		n, err := l.statements.Erase(ctx, l.writer, EraseParams{Principal: principal, MaxRows: int64(limit)})
		erased += int(n)
		return err
	})
	return erased, err
}
