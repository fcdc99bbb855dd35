package faults

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// Report is what was attacked, how often, and what was found. Its maps count by
// name.
type Report struct {
	Seed       uint64
	Took       time.Duration
	Attacked   map[string]int
	Asked      map[string]int // answers that clients got
	Happened   map[string]int // events that servers told of
	Checked    map[string]int
	LeftOut    []string
	Violations []Violation
}

// Violation is a broken promise: the name of the invariant, whose key, and what
// happened.
type Violation struct {
	Rule, Where, What string
}

// shown is how many violations are printed in full.
const shown = 20

// Print prints the report as one table.
func (r *Report) Print(to io.Writer) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "seed\t%d\n", r.Seed)
	fmt.Fprintf(w, "took\t%v\n", r.Took.Round(time.Second))
	for _, part := range []struct {
		title string
		times map[string]int
	}{{"attacked", r.Attacked}, {"asked", r.Asked}, {"happened", r.Happened}, {"checked", r.Checked}} {
		for _, name := range slices.Sorted(maps.Keys(part.times)) {
			fmt.Fprintf(w, "%s\t%d\t%s\n", part.title, part.times[name], name)
		}
	}
	for _, what := range r.LeftOut {
		fmt.Fprintf(w, "left out\t\t%s\n", what)
	}
	fmt.Fprintf(w, "found\t%d\tviolations\n", len(r.Violations))
	w.Flush()
	for i, v := range r.Violations {
		if i == shown {
			fmt.Fprintf(to, "and %d more\n", len(r.Violations)-shown)
			break
		}
		fmt.Fprintf(to, "\n%s: %s\n  %s\n", v.Rule, v.Where, strings.ReplaceAll(v.What, "\n", "\n  "))
	}
}

// Write writes the report to a file, as JSON.
func (r *Report) Write(file string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// record is a report in the making. It is safe for concurrent use.
type record struct {
	mu      sync.Mutex
	report  Report
	failure error // what kept the suite itself from working
}

func newRecord(seed uint64) *record {
	return &record{report: Report{
		Seed: seed, Attacked: map[string]int{}, Asked: map[string]int{}, Happened: map[string]int{}, Checked: map[string]int{},
	}}
}

func (r *record) count(in map[string]int, name string, times int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	in[name] += times
}

func (r *record) attacked(name string, times int) { r.count(r.report.Attacked, name, times) }
func (r *record) asked(name string)               { r.count(r.report.Asked, name, 1) }
func (r *record) happened(name string)            { r.count(r.report.Happened, name, 1) }
func (r *record) checked(name string, times int)  { r.count(r.report.Checked, name, times) }

func (r *record) leaveOut(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.LeftOut = append(r.report.LeftOut, what)
}

func (r *record) violate(rule, where, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Violations = append(r.report.Violations, Violation{rule, where, what})
}

// broken keeps the first failure.
func (r *record) broken(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failure == nil {
		r.failure = err
	}
}
