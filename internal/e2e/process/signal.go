package process

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Signal sends a signal to the server.
func (s *Server) Signal(signal syscall.Signal) { s.command.Process.Signal(signal) }

// AwaitStopped waits until the server has been stopped by a signal.
func (s *Server) AwaitStopped(t testing.TB) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.command.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		// The state stands behind the name in parentheses: proc(5).
		if _, after, _ := strings.Cut(string(stat), ") "); strings.HasPrefix(after, "T") {
			return
		}
	}
	t.Fatal("the server was not stopped")
}
