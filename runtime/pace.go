package runtime

import (
	"sync/atomic"
	"time"
)

// pace is how long an operation takes, from its claim until its answer is
// stored: a mean in which the last few runs count most. Safe for concurrent
// use; of runs that end together one may be lost.
type pace struct{ mean atomic.Int64 }

// note adds a run.
func (p *pace) note(took time.Duration) {
	// The first run is the mean, and 0 says that there was none.
	next := max(int64(took), 1)
	if mean := p.mean.Load(); mean > 0 {
		next = mean + (next-mean)/4
	}
	p.mean.Store(next)
}

// rest guesses for how long something still runs that has run for a while. Past
// the usual time, and where none is known, that is as long again: so a client
// who obeys asks less and less often.
func (p *pace) rest(ran time.Duration) time.Duration {
	if usual := time.Duration(p.mean.Load()); usual > ran {
		return usual - ran
	}
	return ran
}

// stillRunning is the answer to a duplicate of what runs: when to ask again is a
// guess, of at least a second and at most what is left of the lease. A row from
// the future, after the clock was set back, must not keep clients away for
// longer than a lease.
func (g *Guard) stillRunning(row *Row) *Error {
	left := min(time.Duration(row.LeaseUntil-row.Now)*time.Millisecond, g.policy.Lease)
	ran := max(0, time.Duration(row.Now-row.ClaimedAt)*time.Millisecond)
	return inProgress(min(max(g.pace.rest(ran), time.Second), left))
}
