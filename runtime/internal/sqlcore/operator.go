package sqlcore

import (
	"context"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

var _ runtime.OperatorLedger = (*Core[any])(nil)

// countsLimit is for an operator who reads a whole table of many millions of rows,
// which takes longer than any statement of a request may.
const countsLimit = 10 * time.Minute

// Counts implements [runtime.OperatorLedger].
func (l *Core[DB]) Counts(ctx context.Context) (counts []runtime.Count, err error) {
	ctx, cancel := context.WithTimeout(ctx, max(l.Limit, countsLimit))
	defer cancel()
	err = l.retry(ctx, "counts", func(ctx context.Context, _ int) error {
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
