package sim

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// scripts are the keys that the three owners ask for, one after the other.
var scripts = [3][]runtime.ID{{ids[0], ids[1]}, {ids[0]}, {ids[1], ids[0]}}

// Explore plays every world in which three owners of two keys, in two
// processes, meet up to depth decisions: which of their statements is executed
// and answered next, or, up to so many times, what goes wrong instead: a
// statement fails or its answer is lost, a lease or a retention passes, a
// process dies. After that the world comes to rest undisturbed.
func Explore(t *testing.T, mode Mode, depth, disturbances int) Report {
	return explore(t, Correct, mode, depth, disturbances, func(Report) bool { return false })
}

func explore(t *testing.T, variant Variant, mode Mode, depth, disturbances int, enough func(Report) bool) Report {
	report := newReport(0)
	report.Depth = depth
	x := &explorer{depth: depth}
	for {
		w := x.same(func() *world { return x.world(t, variant, mode, disturbances) })
		report.add(w, func(v *Violation) { v.Choices = slices.Clone(x.path) })
		if enough(report) || !x.next() {
			return report
		}
	}
}

// explorer counts through all paths of decisions.
type explorer struct {
	depth  int
	path   []int // what was decided, or is to be
	widths []int // how many there were to choose from
	at     int
	// strayed: there was another number to choose from than before on this
	// path. Two keys shared a slot of the engine's memory, see the package's
	// text.
	strayed bool
	// yield takes what there is now, and tries what follows from the start.
	yield bool
}

// maxStrays is how often a path that strayed is played again.
const maxStrays = 3

// same plays the path until it does not stray.
func (x *explorer) same(play func() *world) *world {
	for strays := 0; ; strays++ {
		x.at, x.strayed, x.yield = 0, false, strays == maxStrays
		if w := play(); !x.strayed {
			return w
		}
	}
}

// choose decides among n; beyond the depth nothing is decided any more.
func (x *explorer) choose(n int) (choice int, ok bool) {
	if x.at == x.depth || x.strayed {
		return 0, false
	}
	if x.at < len(x.path) && x.widths[x.at] != n {
		if !x.yield {
			x.strayed = true
			return 0, false
		}
		x.path, x.widths = x.path[:x.at], x.widths[:x.at]
	}
	if x.at == len(x.path) {
		x.path, x.widths = append(x.path, 0), append(x.widths, n)
	}
	x.at++
	return x.path[x.at-1], true
}

// next is the next path; false when there is none left.
func (x *explorer) next() bool {
	x.path, x.widths = x.path[:x.at], x.widths[:x.at]
	for last := len(x.path) - 1; last >= 0; last-- {
		if x.path[last]++; x.path[last] < x.widths[last] {
			return true
		}
		x.path, x.widths = x.path[:last], x.widths[:last]
	}
	return false
}

// world plays one path.
func (x *explorer) world(t *testing.T, variant Variant, mode Mode, disturbances int) (w *world) {
	synctest.Test(t, func(*testing.T) {
		p := runtime.DefaultPolicy("POST /")
		p.Lease, p.Timeout, p.Retain = 4*time.Second, 3*time.Second, 6*time.Second
		w = newWorld(variant, p, mode, false, 2)
		var turns [3]int
		var last [3]*request
		for {
			w.settle(nil)
			for i, script := range scripts {
				if turns[i] < len(script) && (last[i] == nil || w.ended(last[i])) {
					last[i] = w.request(w.processes[i%len(w.processes)], script[turns[i]], 0)
					turns[i]++
					w.settle(nil)
				}
			}
			moves := w.moves(disturbances > 0)
			if len(moves) == 0 {
				if w.unanswered() == 0 {
					break
				}
				time.Sleep(100 * time.Millisecond)
				continue
			}
			choice, ok := x.choose(len(moves))
			if !ok {
				break
			}
			moves[choice].play()
			if moves[choice].disturbs {
				disturbances--
			}
		}
		w.drain()
		w.end()
	})
	return w
}

// move is one decision.
type move struct {
	play     func()
	disturbs bool
}

// moves lists what can happen next.
func (w *world) moves(disturb bool) (moves []move) {
	for _, s := range w.pending {
		if w.blocked(s) {
			continue
		}
		moves = append(moves, move{play: func() { w.moveOn(s) }})
		if !disturb || s.unheard || s.name == handlerAtWork || s.name == "read" {
			continue
		}
		moves = append(moves,
			move{disturbs: true, play: func() { s.executed = true; w.fail(s, runtime.ErrUnavailable) }},
			move{disturbs: true, play: func() { w.execute(s); w.fail(s, runtime.ErrUnavailable) }})
	}
	if len(moves) == 0 || !disturb {
		return moves
	}
	for _, d := range []time.Duration{w.policy.Lease, w.policy.Lease + w.policy.Retain} {
		moves = append(moves, move{disturbs: true, play: func() { time.Sleep(d) }})
	}
	for _, p := range w.processes {
		moves = append(moves, move{disturbs: true, play: func() { w.kill(p); w.boot() }})
	}
	return moves
}
