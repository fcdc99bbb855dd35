package runtime

import (
	"context"
	"fmt"
	"time"
)

// WithCallerKept bounds how many keys of one caller the ledger may keep, so that
// one caller cannot fill the table of all. Before a key that no row holds is
// claimed, the caller's rows are counted by the primary key, no more than rows of
// them; one that has as many is refused with status 429 or 503, Retry-After, and
// the code caller_keys_limit_reached. Keys that a row holds already go on: replays,
// duplicates, takeovers and a new claim of a key that has expired.
//
// Rows count until a sweep deletes them. Requests that are under way at the same
// time, in all processes, do not see each other's claims: the bound may be passed
// by as many as are in flight. The ledger must be a [KeptLedger], as all of this
// module are.
func WithCallerKept(rows, status int) Option {
	return func(s *settings) error {
		if rows < 1 {
			return fmt.Errorf("idemgen: WithCallerKept: %d is no limit: it must be at least 1", rows)
		}
		if status != 429 && status != 503 {
			return fmt.Errorf("idemgen: WithCallerKept: status %d: it must be 429 or 503", status)
		}
		s.keptLimit, s.keptStatus = rows, status
		return nil
	}
}

// keptLedger is the ledger that counts what callers keep; nil where there is no
// limit.
func (s *settings) keptLedger(ledger Ledger) (KeptLedger, error) {
	if s.keptLimit == 0 {
		return nil, nil
	}
	kept, ok := ledger.(KeptLedger)
	if !ok {
		return nil, fmt.Errorf("idemgen: WithCallerKept: the ledger (%T) cannot count the rows of a caller", ledger)
	}
	return kept, nil
}

// full reports whether a caller keeps as many keys as it may.
func (e *Engine) full(ctx context.Context, principal string) (bool, error) {
	if e.kept == nil {
		return false, nil
	}
	n, err := e.kept.Kept(ctx, principal, e.settings.keptLimit)
	return n >= e.settings.keptLimit, err
}

// retryFull is the Retry-After of a caller that has its fill of keys: the first of
// them that goes makes room, and that is seldom at once.
const retryFull = time.Minute

func (e *Engine) refuseFull() *Error {
	return &Error{Status: e.settings.keptStatus, Code: CodeCallerKept, RetryAfter: retryFull,
		Message: fmt.Sprintf("This caller keeps %d keys, which is its limit, so that no new one is taken. Retry with the same key once older ones have expired.", e.settings.keptLimit)}
}
