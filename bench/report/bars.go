package main

import (
	"fmt"
	"strings"
)

// bar is what a benchmark must reach: a throughput of so many times its base's,
// or a metric of at most so much.
type bar struct {
	what   string
	name   string
	base   string // a ratio, when it is set
	unit   string // a metric, otherwise
	limit  float64
	noGoal bool // shown for comparison alone
}

// withinTenth is the throughput of one request after the other that takes 1.1
// times as long.
const withinTenth = 1 / 1.1

func bars() []bar {
	var all []bar
	for _, b := range []struct {
		title, database string
		inFlight        int
		limit           float64
	}{
		{"PostgreSQL", "postgres", 1, withinTenth}, {"PostgreSQL", "postgres", 32, 1.3}, {"PostgreSQL", "postgres", 128, 2.5},
		{"SQLite", "sqlite", 1, withinTenth}, {"SQLite", "sqlite", 16, 3}, {"SQLite", "sqlite", 64, 6},
	} {
		name := inProcess("Fresh", b.database, b.inFlight)
		all = append(all, bar{what: fmt.Sprintf("%s, fresh key, %d in flight, to the bare two statements", b.title, b.inFlight),
			name: name, base: baseOf(name), limit: b.limit})
	}
	for _, database := range []struct{ title, name string }{{"PostgreSQL", "postgres"}, {"SQLite", "sqlite"}, {"MariaDB", "mariadb"}} {
		for _, inFlight := range []int{1, 8, 32, 128} {
			name := inProcess("Replay", database.name, inFlight)
			all = append(all, bar{what: fmt.Sprintf("%s, replay, %d in flight, to the bare read", database.title, inFlight),
				name: name, base: baseOf(name), limit: 0.5})
		}
	}
	all = append(all,
		bar{what: "memory, fresh key, allocations above the bare handler", name: "Above/fresh/body=1KiB", unit: "allocs-above-bare", limit: 12},
		bar{what: "memory, fresh key, nanoseconds above the bare handler", name: "Above/fresh/body=1KiB", unit: "ns-above-bare", limit: 2500},
		bar{what: "memory, replay, allocations above the bare handler", name: "Above/replay/body=1KiB", unit: "allocs-above-bare", limit: 8})
	for _, scenario := range []string{"Fresh", "Replay"} {
		all = append(all, bar{what: "memory, " + strings.ToLower(scenario) + ", over HTTP, to fiber's middleware", noGoal: true,
			name: scenario + "/http/memory/inflight=32/body=1KiB", base: scenario + "/http/fiber-memory/inflight=32/body=1KiB"})
	}
	return all
}

func inProcess(scenario, contender string, inFlight int) string {
	return fmt.Sprintf("%s/inprocess/%s/inflight=%d/body=1KiB", scenario, contender, inFlight)
}

// baseOf is what a benchmark is compared with: over HTTP and in memory the bare
// handler, and in a database the least statements that the request needs.
func baseOf(name string) string {
	p := strings.Split(name, "/")
	if len(p) < 5 {
		return ""
	}
	scenario, place, database, inFlight := p[0], p[1], strings.TrimSuffix(p[2], "-apart"), p[3]
	switch {
	case p[2] == "fiber-memory":
		return "Bare/http/fiber-handler/" + inFlight + "/" + p[4]
	case place == "http" || database == "memory":
		return "Bare/" + place + "/handler/" + inFlight + "/" + p[4]
	case scenario == "Fresh":
		return "Fresh/inprocess/" + database + "-pair/" + inFlight
	}
	return "Replay/inprocess/" + database + "-read/" + inFlight
}

// judge is what was measured, what it should be, and the verdict.
func (b bar) judge(r *results) (measured, goal, verdict string) {
	var value float64
	var ok, met bool
	if b.base != "" {
		value, ok = r.ratio(b.name, b.base)
		met, goal, measured = value >= b.limit, fmt.Sprintf("at least %.3g times", b.limit), fmt.Sprintf("%.2f times", value)
	} else {
		value, ok = r.value(b.name, b.unit)
		// A thousandth of an allocation is the runtime's own.
		met, goal, measured = value < b.limit+0.05, fmt.Sprintf("at most %g", b.limit), fmt.Sprintf("%.1f", value)
	}
	switch {
	case b.noGoal:
		goal, verdict = "", ""
	case met:
		verdict = "met"
	default:
		verdict = "**missed**"
	}
	if !ok {
		return "", goal, "not measured"
	}
	return measured, goal, verdict
}
