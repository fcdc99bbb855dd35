package sqlcore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/idemgen/idemgen/runtime"
)

// sending is the context of a write that wants to know whether any attempt at
// it had a connection, over which it may have reached the database.
type sending struct {
	context.Context
	sent atomic.Bool
}

type sendingKey struct{}

// Value implements [context.Context].
func (s *sending) Value(key any) any {
	if key == (sendingKey{}) {
		return s
	}
	return s.Context.Value(key)
}

// Sent notes that a statement under a context has a connection. What runs the
// statements of a ledger's writer calls it, no later than it sends anything.
func Sent(ctx context.Context) {
	if s, ok := ctx.Value(sendingKey{}).(*sending); ok {
		s.sent.Store(true)
	}
}

// attempted is the error of one attempt: before any had a connection it is that
// of the way to the database, unless it is our own.
func (s *sending) attempted(err error) error {
	if err == nil || s.sent.Load() || errors.Is(err, sql.ErrNoRows) || errors.Is(err, runtime.ErrRefused) {
		return err
	}
	return ConnectError{Err: err}
}

// ended is the error of a write, which [runtime.ErrNotSent] is added to when no
// attempt had a connection.
func (s *sending) ended(err error) error {
	if err == nil || s.sent.Load() {
		return err
	}
	return fmt.Errorf("%w: %w", runtime.ErrNotSent, err)
}
