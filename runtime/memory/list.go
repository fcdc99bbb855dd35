package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/idemgen/idemgen/runtime"
)

var (
	_ runtime.ListLedger = (*Ledger)(nil)
	_ runtime.KeptLedger = (*Ledger)(nil)
)

// List implements [runtime.ListLedger]. The table has no order, so that each page
// looks at all rows.
func (l *Ledger) List(ctx context.Context, after runtime.ID, limit int) ([]runtime.Listed, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	var list []runtime.Listed
	for r := range l.rows.all() {
		if compareIDs(r.id, after) <= 0 {
			continue
		}
		row := r.Row
		row.Now, row.Fingerprint = now, [32]byte{}
		row.Answer = runtime.StoredAnswer{Status: r.Answer.Status}
		list = append(list, runtime.Listed{
			ID: r.id, Row: row, AnswerBytes: int64(len(r.Answer.Headers) + len(r.Answer.Body)), RecoveryPoint: r.point,
		})
	}
	slices.SortFunc(list, func(a, b runtime.Listed) int { return compareIDs(a.ID, b.ID) })
	return list[:min(len(list), max(limit, 0))], nil
}

func compareIDs(a, b runtime.ID) int {
	return cmp.Or(cmp.Compare(a.Principal, b.Principal), cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Key, b.Key))
}

// Kept implements [runtime.KeptLedger].
func (l *Ledger) Kept(ctx context.Context, principal string, limit int) (int, error) {
	if _, err := l.begin(ctx); err != nil {
		return 0, err
	}
	defer l.mu.Unlock()
	return min(l.rows.kept[principal], max(limit, 0)), nil
}
