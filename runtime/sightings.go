package runtime

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// sightings are claims whose leases look longer than they can be, because the
// ledger's clock was set back: each with the time, by a clock that nobody sets, at
// which this process saw it first. When the length of the lease has passed since,
// the lease is over, whatever the ledger's clock says. Safe for concurrent use.
type sightings struct {
	mu   sync.Mutex
	seen map[ID]sighting
}

type sighting struct {
	fence      Fence
	leaseUntil int64 // a renewal moves it
	at         time.Time
}

// maxSightings bounds what is remembered; what is forgotten is seen anew.
const maxSightings = 1000

// over reports whether a pending row's lease has been over for certain. usual is the
// length of the reader's own leases: the row's may be longer, by as much as it says.
func (s *sightings) over(id ID, row *Row, usual time.Duration) bool {
	left := time.Duration(row.LeaseUntil-row.Now) * time.Millisecond
	given := max(usual, time.Duration(row.LeaseUntil-row.ClaimedAt)*time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	if row.Completed || left <= usual && row.Now >= row.ClaimedAt {
		delete(s.seen, id)
		return false
	}
	f := Fence{ID: id, Generation: row.Generation, Owner: row.Owner}
	first, found := s.seen[id]
	if !found || first.fence != f || first.leaseUntil != row.LeaseUntil {
		if s.seen == nil || len(s.seen) >= maxSightings {
			s.seen = map[ID]sighting{}
		}
		s.seen[id] = sighting{f, row.LeaseUntil, time.Now()}
		return false
	}
	return time.Since(first.at) >= given
}

// endOutlived ends a lease that is over by the time which passed here, so that the
// row can be taken over by the ledger's clock, too.
func (g *Guard) endOutlived(ctx context.Context, id ID, row *Row) error {
	if !g.engine.sightings.over(id, row, g.policy.Lease) {
		return nil
	}
	held, err := g.engine.ledger.EndLease(ctx, Fence{ID: id, Generation: row.Generation, Owner: row.Owner})
	if err != nil || !held {
		return err
	}
	g.log(ctx, slog.LevelWarn, id, "the ledger's clock was set back; a lease is ended that was over by the time which passed here",
		slog.Int64("generation", row.Generation))
	row.LeaseUntil = row.Now
	return nil
}
