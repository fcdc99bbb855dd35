package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/idemgen/idemgen/runtime"
)

var _ runtime.OperatorLedger = (*Ledger)(nil)

// Counts implements [runtime.OperatorLedger].
func (l *Ledger) Counts(ctx context.Context) ([]runtime.Count, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	counts := map[runtime.Count]int64{}
	for r := range l.rows.all() {
		seen := r.Row
		seen.Now = now
		counts[runtime.Count{Operation: r.Operation, State: seen.State()}]++
	}
	sorted := slices.SortedFunc(maps.Keys(counts), func(a, b runtime.Count) int {
		return cmp.Or(cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.State, b.State))
	})
	for i := range sorted {
		sorted[i].Rows = counts[sorted[i]]
	}
	return sorted, nil
}

// Erase implements [runtime.OperatorLedger].
func (l *Ledger) Erase(ctx context.Context, principal string, limit int) (int, error) {
	now, err := l.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer l.mu.Unlock()
	erased := 0
	for r := range l.rows.all() {
		if erased < limit && r.id.Principal == principal && r.point == "" && (r.Completed || r.LeaseUntil <= now) {
			l.remove(r)
			erased++
		}
	}
	return erased, nil
}
