// Package process builds and runs servers for tests, as separate processes
// that can be killed.
package process

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Root is the folder of the repository, seen from a test's package two levels
// below internal/e2e.
func Root(t testing.TB) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// Env is the environment for commands in a module of its own: no workspace,
// and nothing is written to go.mod unasked.
func Env(extra ...string) []string {
	return append(os.Environ(), append([]string{"GOWORK=off"}, extra...)...)
}

// Run runs a command in a folder and returns what it printed.
func Run(t testing.TB, dir string, env []string, name string, args ...string) string {
	t.Helper()
	out, err := Try(dir, env, name, args...)
	if err != nil {
		t.Fatalf("%s %s in %s: %v\n%s", name, strings.Join(args, " "), dir, err, out)
	}
	return out
}

// Try is Run for commands that may fail.
func Try(dir string, env []string, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir, c.Env = dir, env
	out, err := c.CombinedOutput()
	return string(out), err
}

// Build builds a command of a module and returns the binary's path.
func Build(t testing.TB, dir, pkg string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "server")
	Run(t, dir, Env(), "go", "build", "-o", binary, pkg)
	return binary
}

// Server is a running server.
type Server struct {
	URL string

	command *exec.Cmd
	log     *log
	once    sync.Once
}

// Start starts a server and waits until it prints "listening on URL". It is
// killed at the end of the test.
func Start(t testing.TB, binary string, args ...string) *Server {
	t.Helper()
	return StartWith(t, nil, binary, args...)
}

// StartWith is Start with more in the environment, where a URL with a password
// belongs.
func StartWith(t testing.TB, env []string, binary string, args ...string) *Server {
	t.Helper()
	s := &Server{command: exec.Command(binary, args...), log: &log{}}
	s.command.Env = append(os.Environ(), env...)
	s.command.Stderr = s.log
	out, err := s.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	_, url, found := strings.Cut(strings.TrimSpace(line), "listening on ")
	if !found {
		s.Kill()
		t.Fatalf("the server printed %q (%v) and said:\n%s", line, err, s.Log())
	}
	go io.Copy(io.Discard, lines)
	s.URL = url
	return s
}

// Kill ends the server as a crash would, and waits for its end.
func (s *Server) Kill() {
	s.once.Do(func() {
		s.command.Process.Kill()
		s.command.Wait()
	})
}

// Stop asks the server to end and returns the error with which it did.
func (s *Server) Stop() (err error) {
	s.once.Do(func() {
		s.command.Process.Signal(os.Interrupt)
		err = s.command.Wait()
	})
	return err
}

// Log is what the server has written to its standard error.
func (s *Server) Log() string { return s.log.String() }

type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
