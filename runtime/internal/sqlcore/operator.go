package sqlcore

import (
	"context"

	"github.com/idemgen/idemgen/runtime"
)

var _ runtime.OperatorLedger = (*Core[any])(nil)

// Counts implements [runtime.OperatorLedger].
func (l *Core[DB]) Counts(ctx context.Context) (counts []runtime.Count, err error) {
	err = l.Retry(ctx, "counts", func(ctx context.Context, _ int) error {
		rows, err := l.Statements.Counts(ctx, l.Reader)
		counts = make([]runtime.Count, len(rows))
		for i, row := range rows {
			counts[i] = runtime.Count{Operation: row.Operation, State: runtime.State(row.State), Rows: row.RowCount}
		}
		return err
	})
	return counts, err
}

// Erase implements [runtime.OperatorLedger].
func (l *Core[DB]) Erase(ctx context.Context, principal string, limit int) (erased int, err error) {
	if limit <= 0 {
		return 0, nil
	}
	err = l.Retry(ctx, "erase", func(ctx context.Context, _ int) error {
		n, err := l.Statements.Erase(ctx, l.Writer, EraseParams{Principal: principal, MaxRows: int64(limit)})
		erased += int(n)
		return err
	})
	return erased, err
}
