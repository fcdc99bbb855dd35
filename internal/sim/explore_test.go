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
		transactions        bool
		depth, disturbances int
		soakDepth           int
	}{
		{false, toTheEnd, 0, toTheEnd},
		{true, 8, 0, toTheEnd},
		{false, 4, 1, 7},
		{true, 4, 1, 7},
		{false, 3, 2, 6},
		{true, 3, 2, 6},
	}
	for _, p := range plans {
		if *soakFlag {
			p.depth = p.soakDepth
		}
		t.Run(fmt.Sprintf("transactions=%t depth=%d disturbances=%d", p.transactions, p.depth, p.disturbances), func(t *testing.T) {
			report := Explore(t, p.transactions, p.depth, p.disturbances)
			t.Logf("%d worlds, %d steps", report.Worlds, report.Steps)
			fail(t, report)
		})
	}
}
