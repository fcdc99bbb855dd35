package sqlcore

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	maxAttempts = 20
	minPause    = time.Millisecond
	maxPause    = 200 * time.Millisecond
)

// Retry runs a statement under the ledger's time limit, again after errors
// that pass. attempt counts from 1. Its error is classified.
func (l *Core[DB]) Retry(ctx context.Context, name string, statement func(ctx context.Context, attempt int) error) error {
	ctx, cancel := context.WithTimeout(ctx, l.Limit)
	defer cancel()
	return l.retry(ctx, name, statement)
}

// retry is Retry under a limit that ctx has already.
func (l *Core[DB]) retry(ctx context.Context, name string, statement func(ctx context.Context, attempt int) error) error {
	var met time.Time // somebody else's lock
	for attempt := 1; ; attempt++ {
		err := statement(ctx, attempt)
		if err == nil && ctx.Err() != nil && slices.Contains(writes, name) {
			// Some drivers report that a COMMIT which was cancelled stands, although
			// the server has only given up to wait for its standby.
			err = ctx.Err()
		}
		if met.IsZero() && l.waits(name, err) {
			met = time.Now()
		}
		again := err != nil && (l.Engine.Passing(err) || l.waits(name, err) && time.Since(met) < l.Engine.LockWait)
		if !again || ctx.Err() != nil || attempt == maxAttempts {
			if err != nil && ctx.Err() != nil && slices.Contains(writes, name) {
				l.doubt()
			}
			return l.Engine.Classify(err)
		}
		l.notify(ctx, name, err)
		ceiling := min(maxPause, minPause<<min(attempt, 8))
		select {
		case <-time.After(minPause + rand.N(ceiling)):
		case <-ctx.Done():
			return l.Engine.Classify(err)
		}
	}
}

// waits reports whether a statement of a request met somebody else's lock. It
// waits for it here, without a connection, because others need that meanwhile.
func (l *Core[DB]) waits(name string, err error) bool {
	return err != nil && (name == insertStatement || name == takeOverStatement || name == reuseStatement) && l.Engine.class(err) == Locked
}

// The writes of requests.
const (
	insertStatement   = "insert"
	takeOverStatement = "take over"
	reuseStatement    = "reuse"
	renewStatement    = "renew"
	completeStatement = "complete"
	confirmStatement  = "confirm"
	releaseStatement  = "release"
	endLeaseStatement = "end lease"
)

var writes = []string{insertStatement, takeOverStatement, reuseStatement, renewStatement, completeStatement, confirmStatement, releaseStatement, endLeaseStatement}

func (l *Core[DB]) notify(ctx context.Context, name string, err error) {
	l.mu.Lock()
	observers := slices.Clone(l.onRetry)
	l.mu.Unlock()
	for _, f := range observers {
		f(ctx, name, err)
	}
}
