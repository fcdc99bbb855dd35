package faults

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// Report is what was attacked, how often, and what was found.
type Report struct {
	Seed uint64
	Took time.Duration

	attacks  counts
	requests counts
	events   counts
	checks   counts

	mu         sync.Mutex
	violations []Violation
	failure    error
	notes      []string
}

// Violation is a broken promise: the name of the invariant, and where.
type Violation struct {
	Rule, Where, What string
}

// Count is how often something happened.
type Count struct {
	Name  string
	Times int
}

// Attacks are the attacks, in alphabetical order.
func (r *Report) Attacks() []Count { return r.attacks.list() }

// Violations are what was found, in the order in which it was.
func (r *Report) Violations() []Violation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.violations)
}

func (r *Report) violate(rule, where, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.violations = append(r.violations, Violation{rule, where, what})
}

// broken keeps the first thing that kept the suite itself from working.
func (r *Report) broken(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failure == nil {
		r.failure = err
	}
}

// note says what was left out.
func (r *Report) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, text)
}

// shown is how many violations are printed in full.
const shown = 20

// Print prints the report as one table.
func (r *Report) Print(to io.Writer) {
	violations := r.Violations()
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "seed\t%d\n", r.Seed)
	fmt.Fprintf(w, "took\t%v\n", r.Took.Round(time.Second))
	for _, part := range []struct {
		title string
		*counts
	}{{"attacked", &r.attacks}, {"asked", &r.requests}, {"happened", &r.events}, {"checked", &r.checks}} {
		for _, c := range part.list() {
			fmt.Fprintf(w, "%s\t%d\t%s\n", part.title, c.Times, c.Name)
		}
	}
	r.mu.Lock()
	for _, n := range r.notes {
		fmt.Fprintf(w, "left out\t\t%s\n", n)
	}
	r.mu.Unlock()
	fmt.Fprintf(w, "found\t%d\tviolations\n", len(violations))
	w.Flush()
	for i, v := range violations {
		if i == shown {
			fmt.Fprintf(to, "and %d more\n", len(violations)-shown)
			break
		}
		fmt.Fprintf(to, "\n%s: %s\n  %s\n", v.Rule, v.Where, strings.ReplaceAll(v.What, "\n", "\n  "))
	}
}

// counts count by name. They are safe for concurrent use.
type counts struct {
	mu    sync.Mutex
	times map[string]int
}

func (c *counts) add(name string, times int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.times == nil {
		c.times = map[string]int{}
	}
	c.times[name] += times
}

func (c *counts) list() (list []Count) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, times := range c.times {
		list = append(list, Count{name, times})
	}
	slices.SortFunc(list, func(a, b Count) int { return strings.Compare(a.Name, b.Name) })
	return list
}
