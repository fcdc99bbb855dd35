package runtime

import (
	"context"
	"log/slog"
)

// tell hands an event to the observer, when there is one. Its panic ends
// nothing but the observation.
func (s *settings) tell(ctx context.Context, e Event) {
	if s.observer == nil {
		return
	}
	if keeper := keeperOf(ctx); keeper != nil {
		keeper.keep(func() { s.observe(ctx, e) })
		return
	}
	s.observe(ctx, e)
}

func (s *settings) observe(ctx context.Context, e Event) {
	defer func() {
		if p := recover(); p != nil {
			s.write(ctx, slog.LevelError, "the observer panicked", slog.String("event", string(e.Kind)), slog.Any("error", panicked("the observer", p)))
		}
	}()
	s.observer.Observe(ctx, e)
}

// say writes what an operator must see.
func (s *settings) say(ctx context.Context, level slog.Level, message string, attrs ...slog.Attr) {
	if keeper := keeperOf(ctx); keeper != nil {
		keeper.keep(func() { s.write(ctx, level, message, attrs...) })
		return
	}
	s.write(ctx, level, message, attrs...)
}

// write is say at once. There is nobody to be told of a logger that panics.
func (s *settings) write(ctx context.Context, level slog.Level, message string, attrs ...slog.Attr) {
	defer func() { _ = recover() }()
	s.logger.LogAttrs(ctx, level, "idemgen: "+message, attrs...)
}

// A keeper keeps what observer and log are to be told for later, because both
// are the user's and may block: nothing of ours is held while they run.
type keeper interface {
	keep(func())
}

type keeperKey struct{}

// keeperOf is who keeps what is told under a context, or nil: it is told at
// once.
func keeperOf(ctx context.Context) keeper {
	k, _ := ctx.Value(keeperKey{}).(keeper)
	return k
}

// notes is the keeper of one request, while it has a transaction or is in the
// way of others. It is used by one goroutine.
type notes struct{ told []func() }

func (n *notes) keep(f func()) { n.told = append(n.told, f) }

// under lets the notes keep what is told under the context.
func (n *notes) under(ctx context.Context) context.Context {
	return context.WithValue(ctx, keeperKey{}, keeper(n))
}

// flush tells what was kept. Where telling ends the goroutine, the rest is told
// all the same.
func (n *notes) flush() {
	for len(n.told) > 0 {
		next := n.told[0]
		n.told = n.told[1:]
		func() {
			ended := true
			defer func() {
				if ended {
					n.flush()
				}
			}()
			next()
			ended = false
		}()
	}
}
