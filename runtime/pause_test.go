//go:build unix

package runtime_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/memory"
)

// pausedTimeout is a handler's time in the process that is paused.
const pausedTimeout = 150 * time.Millisecond

// A handler whose process was stopped past its deadline finds its context ended
// with its first look: timers fire late when a process goes on.
func TestContextAfterAPause(t *testing.T) {
	if os.Getenv("IDEMGEN_TEST_PAUSED") != "" {
		paused(t)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestContextAfterAPause$", "-test.v")
	// With one processor the handler that looks keeps timers from being seen to.
	child.Env = append(os.Environ(), "IDEMGEN_TEST_PAUSED=1", "GOMAXPROCS=1")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	rounds := 0
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		switch {
		case strings.HasPrefix(lines.Text(), "running"):
			signal(t, child, syscall.SIGSTOP)
			time.Sleep(pausedTimeout + 50*time.Millisecond)
			signal(t, child, syscall.SIGCONT)
			rounds++
			fmt.Fprintln(in)
		case strings.HasPrefix(lines.Text(), "late"):
			t.Error(lines.Text())
		}
	}
	if err := child.Wait(); err != nil || rounds != pausedRounds {
		t.Errorf("%d rounds, %v", rounds, err)
	}
}

func signal(t *testing.T, child *exec.Cmd, s os.Signal) {
	if err := child.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

const pausedRounds = 4

// paused is the process that is stopped: its handlers look at their contexts
// for as long as they last. Half of them have leases that are renewed.
func paused(t *testing.T) {
	engine, err := runtime.NewEngine(memory.New())
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(t.Context())
	for i := range pausedRounds {
		p := runtime.DefaultPolicy("POST /orders")
		p.Timeout, p.Renew = pausedTimeout, i%2 == 1
		guard, err := engine.Guard(p)
		if err != nil {
			t.Fatal(err)
		}
		call := runtime.Call{Principal: "alice", Key: fmt.Sprint("k", i), Fingerprint: func(runtime.Rule) [32]byte { return [32]byte{} }}
		_, err = guard.Do(t.Context(), call, func(ctx context.Context) (runtime.Answer, error) {
			end, _ := ctx.Deadline()
			// Whoever makes a statement asks for Done first.
			done := ctx.Done()
			fmt.Println("running")
			for {
				late := time.Now().After(end)
				select {
				case <-ctx.Done():
					return runtime.Answer{}, ctx.Err()
				default:
				}
				if late {
					fmt.Println("late: Done is open past the deadline")
				}
				late = time.Now().After(end)
				if ctx.Err() == nil {
					if late {
						fmt.Println("late: Err is nil past the deadline")
					}
					continue
				}
				select {
				case <-done:
				default:
					fmt.Println("late: Err says that the context has ended, and Done is open")
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		// However late the signals come, there is a process for them.
		var line string
		fmt.Scanln(&line)
	}
}
