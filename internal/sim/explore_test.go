package sim

import (
	"fmt"
	"testing"
)

// toTheEnd is more decisions than a world has.
const toTheEnd = 1000

// Every interleaving of three owners of two keys: without disturbance to the
// end of the world, with them up to a depth. -sim.soak goes deeper.
func TestExplore(t *testing.T) {
	plans := []struct {
		mode                Mode
		depth, disturbances int
		soakDepth           int
	}{
		{Claims, toTheEnd, 0, toTheEnd},
		{Twice, 8, 0, toTheEnd},
		{Once, toTheEnd, 0, toTheEnd},
		{Claims, 4, 1, 7},
		{Twice, 4, 1, 7},
		{Once, 4, 1, 7},
		{Claims, 3, 2, 6},
		{Twice, 3, 2, 6},
		{Once, 3, 2, 6},
	}
	for _, p := range plans {
		if *soakFlag {
			p.depth = p.soakDepth
		}
		t.Run(fmt.Sprintf("%s depth=%d disturbances=%d", p.mode, p.depth, p.disturbances), func(t *testing.T) {
			report := Explore(t, p.mode, p.depth, p.disturbances)
			t.Logf("%d worlds, %d steps", report.Worlds, report.Steps)
			fail(t, report)
		})
	}
}
