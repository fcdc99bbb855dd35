package faults

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// node is a server that is started again whenever it has ended.
type node struct {
	name     string
	binary   string
	report   *record
	unstored *unstored

	// attacked is held by what stops or ends the process.
	attacked sync.Mutex

	args []string

	mu      sync.Mutex
	extra   []string  // arguments of the next life alone
	process *exec.Cmd // nil while it starts
	url     string
	killed  bool // by us
	running int  // handlers
	starts  int
}

// serve keeps the server running until ctx ends.
func (n *node) serve(ctx context.Context) {
	for ctx.Err() == nil {
		if !n.live(ctx) {
			sleep(ctx, 50*time.Millisecond)
		}
	}
}

// live runs one process to its end. It reports whether it came to serve.
func (n *node) live(ctx context.Context) bool {
	n.mu.Lock()
	c := exec.Command(n.binary, append(slices.Clone(n.args), n.extra...)...)
	n.running, n.killed = 0, false
	n.mu.Unlock()
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said := &tail{}
	c.Stderr = said
	out, err := c.StdoutPipe()
	if err != nil {
		n.report.broken(fmt.Errorf("start %s: %w", n.name, err))
		return false
	}
	if err := c.Start(); err != nil {
		n.report.broken(fmt.Errorf("start %s: %w", n.name, err))
		return false
	}
	defer context.AfterFunc(ctx, func() { c.Process.Kill() })()
	lines := bufio.NewReader(out)
	first, _ := lines.ReadString('\n')
	_, url, served := strings.Cut(strings.TrimSpace(first), "listening on ")
	if !served {
		// It gave up on a database that is down.
		c.Process.Kill()
		c.Wait()
		return false
	}
	n.mu.Lock()
	n.process, n.url = c, url
	n.starts++
	n.mu.Unlock()
	n.listen(lines)
	err = c.Wait()
	n.mu.Lock()
	n.process, n.url = nil, ""
	killed := n.killed
	n.mu.Unlock()
	if !killed && ctx.Err() == nil {
		n.report.violate("server-lives", n.name, fmt.Sprintf("the server ended by itself: %v\n%s", err, said))
	}
	return true
}

// listen keeps account of what the server prints.
func (n *node) listen(lines *bufio.Reader) {
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		n.mu.Lock()
		switch line = strings.TrimSpace(line); line {
		case "begin":
			n.running++
		case "end":
			n.running--
		}
		n.mu.Unlock()
		if kind, ok := strings.CutPrefix(line, "event "); ok {
			n.report.happened(kind)
		}
		if claim, ok := strings.CutPrefix(line, "unstored "); ok {
			n.unstored.add(claim)
		}
	}
}

// address is where the server listens, or "".
func (n *node) address() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.url
}

// life is how often the server has come to serve.
func (n *node) life() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.starts
}

// kill ends the server as a crash would, unless it is not there. Arguments are
// added to those of its next life.
func (n *node) kill(extra ...string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process == nil || n.killed {
		return false
	}
	n.killed, n.url, n.extra = true, "", extra
	n.process.Process.Kill()
	return true
}

// pause stops the server for a while, at a moment when handlers run. It returns
// how many stood still.
func (n *node) pause(ctx context.Context, d time.Duration) (owners int, ok bool) {
	for n.handlers() == 0 {
		if !sleep(ctx, time.Millisecond) {
			return 0, false
		}
	}
	n.mu.Lock()
	c := n.process
	n.mu.Unlock()
	if c == nil {
		return 0, false
	}
	c.Process.Signal(syscall.SIGSTOP)
	sleep(ctx, d)
	owners = n.handlers() // all that it printed before has been read by now
	c.Process.Signal(syscall.SIGCONT)
	return owners, true
}

// handlers is how many handlers run.
func (n *node) handlers() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process == nil {
		return 0
	}
	return n.running
}

// await waits until the server serves.
func (n *node) await(ctx context.Context) error {
	for n.address() == "" {
		if !sleep(ctx, 10*time.Millisecond) {
			return fmt.Errorf("%s does not start: %w", n.name, ctx.Err())
		}
	}
	return nil
}

// sleep waits for d and reports whether it did, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

var _ io.Writer = (*tail)(nil)

const tailSize = 16 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - tailSize; over > 0 {
		t.text = append([]byte{}, t.text[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
