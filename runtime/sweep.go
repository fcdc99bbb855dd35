package runtime

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// sweeper spends what requests may delete. At most one sweep of a process is
// in flight; what requests contribute meanwhile adds up, within a bound.
type sweeper struct {
	start   time.Time // of the engine
	credits atomic.Int64
	busy    atomic.Bool
	last    atomic.Int64 // when the last sweep began, in ns since start
	more    atomic.Bool  // the last sweep cleared all it might, so that more may be due
}

const (
	// A sweep is a write transaction: small ones are put off until a batch is
	// together or sweepEvery has passed. One that left nothing due is followed
	// by none before that.
	sweepBatch = 100
	sweepEvery = time.Second
	// maxSweepCredits bounds one sweep.
	maxSweepCredits = 1000
)

// credit lets a sweep clear n rows more, and starts one when it is time.
func (g *Guard) credit(n int) {
	s := &g.engine.sweeper
	if n == 0 {
		return
	}
	credits := s.credits.Add(int64(n))
	now := int64(time.Since(s.start))
	if (credits < sweepBatch || !s.more.Load()) && now-s.last.Load() < int64(sweepEvery) {
		return
	}
	if !s.busy.CompareAndSwap(false, true) {
		return
	}
	s.last.Store(now)
	started := g.engine.background.run(func(ctx context.Context) {
		limit := int(min(s.credits.Swap(0), maxSweepCredits))
		start := time.Now()
		swept := 0
		err := guardedCall("the ledger", func() (err error) {
			swept, err = g.engine.ledger.Sweep(ctx, limit)
			return err
		})
		s.more.Store(swept >= limit)
		took := time.Since(start)
		s.busy.Store(false)
		if err != nil {
			g.engine.settings.say(ctx, slog.LevelWarn, "sweep failed", slog.Any("error", err))
		}
		g.engine.settings.tell(ctx, Event{Kind: EventSwept, Count: swept, Duration: took, Err: err})
	})
	if !started {
		s.busy.Store(false)
	}
}
