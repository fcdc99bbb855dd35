package main

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
)

// document is bench.md.
func document(r *results, command string) string {
	var t strings.Builder
	rounds := 0
	for _, s := range r.samples {
		rounds = max(rounds, len(s))
	}
	fmt.Fprintf(&t, `# Benchmarks

`+"`%s`"+` on %s, %s, %s of %d cores, %s. The databases ran on the same machine and shared its cores;
their commits were synced to disk. Numbers are medians of %s, ratios those of each round's own ratio.
Absolute numbers differ between machines, and from day to day on one; ratios of one run hold. [profile.md](profile.md) says where the
time goes, and shows ledgers that have grown.

![Fresh keys a second](bench.svg)

## Bars

`, command, r.system, r.cpu, r.cores, runtime.NumCPU(), runtime.Version(), plural(rounds, "round"))
	rows := [][]string{{"", "measured", "goal", ""}}
	for _, b := range bars() {
		measured, goal, verdict := b.judge(r)
		rows = append(rows, []string{b.what, measured, goal, verdict})
	}
	table(&t, rows)

	for _, s := range []struct{ title, scenario, text string }{
		{"Fresh keys", "Fresh", "Each request claims a key, runs and stores its answer. `-pair` is the bare insert and update with one commit each, `-apart` the ledger without shared commits."},
		{"Replays", "Replay", "Retries of requests that this process answered lately. `-read` is the bare read by primary key."},
		{"Cold replays", "Cold", "Retries of requests that another process answered: an insert is tried first."},
		{"Duplicates of requests at work", "InProgress", "Refused with 409."},
		{"Keys used for another request", "Mismatch", "Refused with 422."},
		{"No ledger", "Bare", "The handler alone."},
	} {
		fmt.Fprintf(&t, "\n## %s\n\n%s Bodies of 1 KiB, in process.\n\n", s.title, s.text)
		measurements(&t, r, func(name string) bool {
			return strings.HasPrefix(name, s.scenario+"/inprocess/") && (strings.HasSuffix(name, "/body=1KiB") || !strings.Contains(name, "/body="))
		})
	}
	t.WriteString("\n## Sizes of request bodies\n\nIn process, 32 in flight.\n\n")
	measurements(&t, r, func(name string) bool {
		return strings.Contains(name, "/inprocess/") && strings.Contains(name, "/inflight=32/body=") && !strings.Contains(name, "-apart") &&
			(strings.HasPrefix(name, "Fresh") || strings.HasPrefix(name, "Replay") || strings.HasPrefix(name, "Bare"))
	})
	t.WriteString("\n## Over HTTP\n\nOn loopback, client and server in one process, so that allocations are those of both. `fiber-memory` is the idempotency middleware of gofiber v3, on its own HTTP server, whose bare handler is `fiber-handler`.\n\n")
	measurements(&t, r, func(name string) bool { return strings.Contains(name, "/http/") })
	t.WriteString(`
"To bare" is the throughput as a multiple of the bare statements', over HTTP and in memory of the bare handler's. CPU is the
processor time of the benchmark's process, clients and server, and beside it that of the database's server. Commits
are transactions that the database counted, reads among them (on SQLite: those that were opened for a write); the log is PostgreSQL's WAL or InnoDB's redo log.
SQLite's statements and log are not counted.
`)
	return t.String()
}

// measurements is a table of all benchmarks that are wanted.
func measurements(t *strings.Builder, r *results, wanted func(name string) bool) {
	rows := [][]string{{"", "requests/s", "to bare", "p50 ms", "p99 ms", "CPU µs", "server's", "allocations", "statements", "commits", "log bytes"}}
	for _, name := range r.names {
		if !wanted(name) {
			continue
		}
		row := []string{"`" + name + "`", r.perSecond(name), "",
			r.cell(name, "p50-us", 1e3, 2), r.cell(name, "p99-us", 1e3, 2),
			r.cell(name, "cpu-us/op", 1, 1), r.cell(name, "server-cpu-us/op", 1, 1), r.cell(name, "allocs/op", 1, 0),
			r.cell(name, "statements/op", 1, 2), r.cell(name, "commits/op", 1, 2), r.cell(name, "wal-B/op", 1, 0)}
		if ratio, ok := r.ratio(name, baseOf(name)); ok && baseOf(name) != name {
			row[2] = fmt.Sprintf("%.3g", ratio)
		}
		rows = append(rows, row)
	}
	table(t, rows)
}

func (r *results) perSecond(name string) string {
	ns, ok := r.value(name, "ns/op")
	if !ok || ns == 0 {
		return ""
	}
	return thousands(1e9 / ns)
}

// cell is a metric, divided, with that many decimals; "" where there is none.
func (r *results) cell(name, unit string, divisor float64, decimals int) string {
	value, ok := r.value(name, unit)
	if !ok {
		return ""
	}
	return strconv.FormatFloat(value/divisor, 'f', decimals, 64)
}

// thousands is a whole number such as 12,345.
func thousands(value float64) string {
	digits := strconv.FormatFloat(value, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func plural(n int, what string) string {
	if n == 1 {
		return "one " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// table is Markdown; the first row is the head, and numbers stand at the right.
func table(t *strings.Builder, rows [][]string) {
	for i, row := range rows {
		fmt.Fprintf(t, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			t.WriteString("|---" + strings.Repeat("|---:", len(row)-1) + "|\n")
		}
	}
}
