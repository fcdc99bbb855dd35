package runtime

import (
	"fmt"
	"sync"
)

// WithCallerLimit bounds how many requests of one caller may be under way in
// this process at a time, those that wait for their own key included, so that
// one caller cannot fill the pool and the memory of all. What does not fit is
// refused before it asks the ledger, with status 429 (the caller does too much)
// or 503, Retry-After, and the code caller_limit_reached. It counts per engine:
// each process has its own.
func WithCallerLimit(inFlight, status int) Option {
	return func(s *settings) error {
		if inFlight < 1 {
			return fmt.Errorf("idemgen: WithCallerLimit: %d is no limit: it must be at least 1", inFlight)
		}
		if status != 429 && status != 503 {
			return fmt.Errorf("idemgen: WithCallerLimit: status %d: it must be 429 or 503", status)
		}
		s.callerLimit, s.callerStatus = inFlight, status
		return nil
	}
}

// callers counts the requests under way by their principal. Safe for concurrent
// use.
type callers struct {
	mu    sync.Mutex
	count map[string]int
}

// enter counts a request in, unless its caller has as many as the limit. leave
// must be called where it was counted.
func (c *callers) enter(principal string, limit int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count[principal] >= limit {
		return false
	}
	if c.count == nil {
		c.count = map[string]int{}
	}
	c.count[principal]++
	return true
}

func (c *callers) leave(principal string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count[principal]--; c.count[principal] == 0 {
		delete(c.count, principal)
	}
}

// admit counts a request of a caller in, where there is a limit. The error says
// that it does not fit.
func (e *Engine) admit(principal string) (leave func(), err error) {
	s := &e.settings
	if s.callerLimit == 0 {
		return func() {}, nil
	}
	if !e.callers.enter(principal, s.callerLimit) {
		return nil, &Error{Status: s.callerStatus, Code: CodeCallerLimit, RetryAfter: retryAtOnce,
			Message: fmt.Sprintf("This caller has %d requests under way, which is its limit. Retry with the same key.", s.callerLimit)}
	}
	return func() { e.callers.leave(principal) }, nil
}
