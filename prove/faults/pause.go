package faults

import (
	"context"
	"os/exec"
	"syscall"
	"time"
)

// pause stops the server for a while, at a moment when handlers run. It returns
// how many stood still, and of what: owners of claims, where the server tells of
// them, and requests otherwise.
func (n *node) pause(ctx context.Context, d time.Duration) (what string, stood int, ok bool) {
	for {
		c, tells := n.stop(ctx)
		if c == nil {
			return "", 0, false
		}
		if !tells {
			what, stood = "requests", n.busy()
		} else if sleep(ctx, 20*time.Millisecond); n.busy() > 0 {
			// All that it printed before has been read by now.
			what, stood = "owners", n.busy()
		}
		if stood > 0 {
			ok = sleep(ctx, d)
		}
		signal(c, syscall.SIGCONT)
		if stood > 0 {
			return what, stood, ok
		}
	}
}

// stop stops the server when it is busy, and tells whether it says which
// handlers run. It returns nil when the server or ctx ends before.
func (n *node) stop(ctx context.Context) (c *exec.Cmd, tells bool) {
	for n.busy() == 0 {
		if !sleep(ctx, time.Millisecond) {
			return nil, false
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process != nil {
		signal(n.process, syscall.SIGSTOP)
	}
	return n.process, n.tells
}
