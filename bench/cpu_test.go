package bench_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cpu is the processor time that this process and the servers that it started
// have used so far. Unlike the time that a request takes, it says little of
// what else the machine does, and it says where the time goes. Only Linux tells
// that of servers.
func cpu() (own, servers time.Duration) {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) == nil {
		own = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return own, descendants()
}

// descendants is what the processes below this one have used.
func descendants() (used time.Duration) {
	parents, self := map[string]string{}, strconv.Itoa(os.Getpid())
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		stat, _ := os.ReadFile(folder + "/stat")
		// pid (name) state parent ...
		_, after, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(after); len(fields) > 1 {
			parents[filepath.Base(folder)] = fields[1]
		}
	}
	for pid := range parents {
		above := parents[pid]
		for above != "" && above != self {
			above = parents[above]
		}
		if above == "" {
			continue
		}
		threads, _ := filepath.Glob("/proc/" + pid + "/task/*/schedstat")
		for _, thread := range threads {
			text, _ := os.ReadFile(thread)
			if fields := strings.Fields(string(text)); len(fields) > 0 {
				n, _ := strconv.ParseInt(fields[0], 10, 64)
				used += time.Duration(n)
			}
		}
	}
	return used
}
