//go:build unix

package generator_test

import (
	"os"
	"runtime"
	"syscall"
)

// peakMemory is the largest resident set of a process or of one of those that
// it started and waited for, in bytes.
func peakMemory(state *os.ProcessState) int {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int(usage.Maxrss) // in bytes there, in KiB elsewhere
	}
	return int(usage.Maxrss) << 10
}
