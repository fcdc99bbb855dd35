package faults

import (
	"bufio"
	"context"
	"fmt"
	"os"
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
	env      []string // more of the environment
	command  []string // with {listen} where the address comes
	report   *record
	told     *told
	mustLive bool

	// attacked is held by what stops or ends the process.
	attacked sync.Mutex

	mu      sync.Mutex
	extra   []string  // arguments of the next life alone
	process *exec.Cmd // nil while it starts
	url     string
	killed  bool // by us
	tells   bool // which handlers run
	running int  // handlers
	asked   int  // requests that clients have under way
	starts  int
	last    *tail // words of the life before
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
	args := append(slices.Clone(n.command), n.extra...)
	n.running, n.killed = 0, false
	n.mu.Unlock()
	address, err := freeAddress()
	if err != nil {
		n.report.broken(fmt.Errorf("start %s: %w", n.name, err))
		return false
	}
	env := append(os.Environ(), n.env...)
	for _, words := range [][]string{args, env[len(env)-len(n.env):]} {
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "{listen}", address)
		}
	}
	c := exec.Command(args[0], args[1:]...)
	c.Env = env
	// A command may start the server as a process of its own: signals go to all.
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
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
	defer context.AfterFunc(ctx, func() { signal(c, syscall.SIGKILL) })()
	ended := make(chan struct{})
	go func() {
		n.hear(bufio.NewReader(out))
		close(ended)
	}()
	served := accepts(address, ended)
	n.mu.Lock()
	n.last = said
	if served {
		n.process, n.url = c, "http://"+address
		n.starts++
	}
	n.mu.Unlock()
	<-ended
	err = c.Wait()
	n.mu.Lock()
	n.process, n.url = nil, ""
	killed := n.killed
	n.mu.Unlock()
	if served && !killed && ctx.Err() == nil {
		if n.mustLive {
			n.report.violate("server-lives", n.name, fmt.Sprintf("the server ended by itself: %v\n%s", err, said))
		}
		n.report.happened("server ended by itself")
	}
	return served
}

func signal(c *exec.Cmd, s syscall.Signal) { syscall.Kill(-c.Process.Pid, s) }

// hear keeps account of what the server prints, if it prints for us.
func (n *node) hear(lines *bufio.Reader) {
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		word, ours := strings.CutPrefix(strings.TrimSpace(line), "prove: ")
		if !ours {
			continue
		}
		n.mu.Lock()
		switch word {
		case "begin":
			n.tells = true
			n.running++
		case "end":
			n.running--
		}
		n.mu.Unlock()
		if kind, ok := strings.CutPrefix(word, "event "); ok {
			n.told.hear()
			n.report.happened(kind)
		}
		if claim, ok := strings.CutPrefix(word, "unstored "); ok {
			n.told.hear()
			n.told.unstored(claim)
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
	signal(n.process, syscall.SIGKILL)
	return true
}

// busy is how many handlers run, as the server says, or how many requests are
// under way, when it says nothing.
func (n *node) busy() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.process == nil:
		return 0
	case n.tells:
		return n.running
	}
	return n.asked
}

// ask counts a request that is under way, until the function that it returns is
// called.
func (n *node) ask() (answered func()) {
	count := func(by int) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.asked += by
	}
	count(1)
	return func() { count(-1) }
}

// await waits until the server serves.
func (n *node) await(ctx context.Context) error {
	for n.address() == "" {
		if !sleep(ctx, 10*time.Millisecond) {
			n.mu.Lock()
			defer n.mu.Unlock()
			return fmt.Errorf("%s does not start: %w\n%s", n.name, ctx.Err(), n.last)
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
