package sqlcore

import (
	"context"
	"fmt"

	"github.com/idemgen/idemgen/runtime"
)

var (
	_ runtime.ListLedger = (*Core[any])(nil)
	_ runtime.KeptLedger = (*Core[any])(nil)
)

// List implements [runtime.ListLedger].
func (l *Core[DB]) List(ctx context.Context, after runtime.ID, limit int) (list []runtime.Listed, err error) {
	if limit <= 0 {
		return nil, nil
	}
	p := ListParams{Principal: after.Principal, Scope: after.Scope, Key: after.Key, MaxRows: int64(limit)}
	err = l.Retry(ctx, "list", func(ctx context.Context, _ int) error {
		rows, err := l.Statements.List(ctx, l.Reader, p)
		if err != nil {
			return err
		}
		list = make([]runtime.Listed, len(rows))
		for i, row := range rows {
			if list[i], err = row.listed(); err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}

// listed is the row as the runtime sees it.
func (r *ListRow) listed() (runtime.Listed, error) {
	row := runtime.Row{
		Operation: r.Operation, Policy: r.Policy, Completed: r.Status == "completed", Generation: r.Generation,
		ClaimedAt: r.ClaimedAt, LeaseUntil: r.LeaseUntil, ExpiresAt: r.ExpiresAt, GoneAt: r.GoneAt, Now: r.Now,
		Answer: runtime.StoredAnswer{Status: int(r.ResponseStatus)},
	}
	if len(r.Owner) != len(row.Owner) {
		return runtime.Listed{}, fmt.Errorf("idemgen: a row of the ledger is corrupt: its owner has %d bytes", len(r.Owner))
	}
	copy(row.Owner[:], r.Owner)
	return runtime.Listed{
		ID:  runtime.ID{Principal: r.Principal, Scope: r.Scope, Key: r.Key},
		Row: row, AnswerBytes: r.AnswerBytes, RecoveryPoint: r.RecoveryPoint,
	}, nil
}

// Kept implements [runtime.KeptLedger].
func (l *Core[DB]) Kept(ctx context.Context, principal string, limit int) (kept int, err error) {
	if limit <= 0 {
		return 0, nil
	}
	err = l.Retry(ctx, "kept", func(ctx context.Context, _ int) error {
		n, err := l.Statements.Kept(ctx, l.Reader, KeptParams{Principal: principal, MaxRows: int64(limit)})
		kept = int(n)
		return err
	})
	return kept, err
}
