package sim

import (
	"fmt"
	"testing"
	"testing/synctest"
)

// Report says what was attacked, how often, and what was found.
type Report struct {
	Seed       uint64
	Depth      int // of Explore
	Worlds     int
	Steps      int
	Counts     map[string]int // of events by kind
	Violations []Violation
}

func newReport(seed uint64) Report { return Report{Seed: seed, Counts: map[string]int{}} }

// Run simulates random worlds until they have made so many steps. World n is
// drawn from seed + n; a violation names its world's seed, so that Run with it
// and one step plays that world alone.
func Run(t *testing.T, seed uint64, steps int) Report {
	return run(t, Correct, seed, steps, func(Report) bool { return false })
}

// run stops early when enough says so.
func run(t *testing.T, variant Variant, seed uint64, steps int, enough func(Report) bool) Report {
	report := newReport(seed)
	for world := seed; report.Steps < steps && !enough(report); world++ {
		report.add(randomWorld(t, variant, world), func(v *Violation) { v.Seed = world })
	}
	return report
}

// randomWorld plays one world to its end.
func randomWorld(t *testing.T, variant Variant, seed uint64) (w *world) {
	defer func() {
		if p := recover(); p != nil {
			panic(fmt.Sprintf("world %d: %v", seed, p))
		}
	}()
	synctest.Test(t, func(*testing.T) {
		s := newScheduler(seed, variant)
		w = s.world
		for range s.steps {
			s.one()
		}
		w.drain()
		w.end()
	})
	return w
}

// add checks a world and adds it up.
func (r *Report) add(w *world, locate func(*Violation)) {
	r.Worlds++
	r.Steps += w.step
	runs := map[int]int{}
	for i := range w.history {
		e := &w.history[i]
		kind := string(e.Kind)
		switch e.Kind {
		case Failed, Repeated, Conflict, EndedByHand:
			kind += ": " + e.Text
		case Inserted:
			if e.Text == atCommit {
				kind += ": " + atCommit
			}
		case RunBegan:
			if runs[e.Request]++; runs[e.Request] > 1 {
				r.Counts["run again"]++
			}
		case Completed:
			if unknown(e.Answer) {
				r.Counts["closed as unknown"]++
			}
		case Effect:
			if e.ByHand {
				r.Counts["effect by hand"]++
			}
		}
		r.Counts[kind]++
		if e.Replayed {
			r.Counts["replayed"]++
		}
	}
	for _, v := range check(w) {
		locate(&v)
		r.Violations = append(r.Violations, v)
	}
}
