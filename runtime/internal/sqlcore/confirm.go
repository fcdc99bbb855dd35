package sqlcore

import (
	"context"
	"hash/maphash"
	"sync/atomic"

	"github.com/idemgen/idemgen/runtime"
)

// A row can be seen before its commit is durable. A COMMIT that is given up while
// it waits for a standby stands on the primary all the same, as does one that was
// waiting when the primary crashed and came back; and InnoDB shows a row a moment
// before it has flushed it. What was only seen counts when a write that came after
// it was acknowledged.

// Confirm implements [runtime.Confirmer].
func (l *Core[DB]) Confirm(ctx context.Context, f runtime.Fence) (bool, error) {
	row, found, err := l.look(ctx, f.ID)
	if err != nil || !found || !row.Completed || row.Generation != f.Generation || row.Owner != f.Owner {
		return false, err
	}
	there, err := l.durable(ctx, f)
	if there {
		l.confirmed.add(f)
	}
	return there, err
}

// durable reports whether the row of a claim that was seen is still there, once it
// is as durable as an acknowledged write.
func (l *Core[DB]) durable(ctx context.Context, f runtime.Fence) (there bool, err error) {
	if !l.Engine.SeenEarly || l.confirmed.has(f) {
		return true, nil
	}
	err = l.Retry(ctx, confirmStatement, func(ctx context.Context, _ int) error {
		n, err := l.Statements.Confirm(ctx, l.Writer, l.FenceParams(f))
		there = err == nil && n > 0
		return err
	})
	return there && err == nil, err
}

// Committed gives the error of a COMMIT its class. A claim whose answer it carried is
// durable when there is none.
func (l *Core[DB]) Committed(f runtime.Fence, err error) error {
	if err == nil {
		l.confirmed.add(f)
		return nil
	}
	l.doubt()
	return l.Engine.ClassifyCommit(err)
}

// doubt remembers that a commit was given up, which may stand all the same.
func (l *Core[DB]) doubt() { l.Doubted.Store(l.Engine.SeenEarly) }

// maxLooks is how often a row is read that changes while it is confirmed.
const maxLooks = 3

// durably reads a row that is as durable as an acknowledged write, where that is in
// doubt: one that is complete is confirmed before this process first answers from it.
func (l *Core[DB]) durably(ctx context.Context, id runtime.ID, read func() (runtime.Row, bool, error)) (runtime.Row, bool, error) {
	for look := 1; ; look++ {
		row, found, err := read()
		if err != nil || !found || !row.Completed || !l.Doubted.Load() {
			return row, found, err
		}
		f := runtime.Fence{ID: id, Generation: row.Generation, Owner: row.Owner}
		there, err := l.durable(ctx, f)
		if there {
			l.confirmed.add(f)
		}
		if there || err != nil {
			return row, err == nil, err
		}
		if look == maxLooks {
			return runtime.Row{}, false, runtime.ErrUnavailable
		}
	}
}

// confirmedSet remembers, within a bound, which completed rows this process knows
// to be durable. What is forgotten costs a write. Safe for concurrent use.
type confirmedSet struct {
	slots [1 << 14]atomic.Uint64
}

var confirmedSeed = maphash.MakeSeed()

func (s *confirmedSet) slot(f runtime.Fence) (*atomic.Uint64, uint64) {
	hash := maphash.Comparable(confirmedSeed, f) | 1 // never an empty slot's
	return &s.slots[hash>>32%uint64(len(s.slots))], hash
}

func (s *confirmedSet) add(f runtime.Fence) {
	slot, hash := s.slot(f)
	slot.Store(hash)
}

func (s *confirmedSet) has(f runtime.Fence) bool {
	slot, hash := s.slot(f)
	return slot.Load() == hash
}
