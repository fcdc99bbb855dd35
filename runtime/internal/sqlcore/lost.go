package sqlcore

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	minText = time.Second
	maxText = time.Minute
)

// LostNames remembers that prepared statements get lost, so that statements are
// sent without one for a while: behind a pooler in transaction mode each
// transaction meets another session, while somebody's DISCARD ALL is over when
// it is over. The zero value has lost none. It is safe for concurrent use.
type LostNames struct {
	mu    sync.Mutex
	until time.Time
	pause time.Duration
}

// Lately reports whether statements are to be sent without a name.
func (n *LostNames) Lately() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Now().Before(n.until)
}

// Learn notes the error of a statement of ours. Nothing was run, so that it may
// simply be sent again.
func (n *LostNames) Learn(ctx context.Context, e Engine, err error) {
	if !e.Is(err, Unprepared) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	switch {
	case now.Before(n.until):
		return // sent before that was known
	case now.Before(n.until.Add(max(n.pause, 10*time.Second))):
		n.pause = min(2*n.pause, maxText)
	default:
		n.pause = minText
		slog.LogAttrs(ctx, slog.LevelWarn, "idemgen: prepared statements get lost, as behind a pooler in transaction mode or after DISCARD ALL; "+
			"for a while statements are sent as text, and commits are not shared", slog.Any("error", err))
	}
	n.until = now.Add(n.pause)
}
