package sim

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var (
	seedFlag   = flag.Uint64("sim.seed", 1, "seed of the first world")
	stepsFlag  = flag.Int("sim.steps", 100_000, "scheduler steps of TestRun")
	reportFlag = flag.String("sim.report", "", "file for TestRun's report, as JSON")
	soakFlag   = flag.Bool("sim.soak", false, "let TestExplore go as deep as some minutes allow")
)

func seed(t *testing.T) uint64 {
	t.Logf("seed %d", *seedFlag)
	return *seedFlag
}

func TestRun(t *testing.T) {
	report := Run(t, seed(t), *stepsFlag)
	t.Logf("%d worlds, %d steps: %v", report.Worlds, report.Steps, report.Counts)
	if *reportFlag != "" {
		text, err := json.MarshalIndent(report, "", "\t")
		if err == nil {
			err = os.WriteFile(*reportFlag, text, 0o644)
		}
		if err != nil {
			t.Error(err)
		}
	}
	fail(t, report)
	if report.Steps < 100_000 {
		return
	}
	// A simulation in which something never happens proves nothing about it.
	for _, kind := range []string{
		"inserted", "taken over", "reused", "renewed", "completed", "released", "lease ended", "answer dropped", "deleted",
		"effect stands", "replayed", "connection cut", "process killed", "clock jumped",
		"standby cut off", "standby caught up", "failed over to the standby",
		"statement failed: commit", "statement failed: complete", "statement failed: insert", "statement failed: takeover",
		"statement failed: reuse", "statement failed: begin", "statement failed: rollback", "statement repeated: complete",
		"claimed in a transaction", "inserted: at the commit", "run again", "effect by hand", "closed as unknown", "end by hand hidden",
		"met another transaction: at a statement", "met another transaction: at the commit",
		"transaction ended by its handler: commit called", "transaction ended by its handler: COMMIT sent",
		"transaction ended by its handler: rollback called", "transaction ended by its handler: ROLLBACK sent",
		"statement failed: begin once", "statement failed: undo", "statement failed: commit by hand", "statement failed: rollback by hand",
	} {
		if report.Counts[kind] == 0 {
			t.Errorf("in %d steps this never happened: %s", report.Steps, kind)
		}
	}
}

// fail prints how to play a violation again, and the first one's history.
func fail(t *testing.T, report Report) {
	t.Helper()
	for i, v := range report.Violations {
		if i == 0 {
			t.Errorf("history:\n%s", v.History)
		}
		again := fmt.Sprintf("-run 'TestRun$' -sim.seed=%d -sim.steps=1", v.Seed)
		if v.Choices != nil {
			again = fmt.Sprintf("-run TestExplore; choices %v", v.Choices)
		}
		if i < 20 {
			t.Errorf("%s: %s (go test ./internal/sim %s)", v.Invariant, v.Message, again)
		}
	}
}

// A seed gives the same world every time. Worlds whose requests wait are left
// out, and one play of three may differ, see the package's text.
func TestSeedGivesTheSameWorld(t *testing.T) {
	played := 0
	for n := uint64(0); played < 50; n++ {
		first := randomWorld(t, Correct, n)
		if first.policy.Wait > 0 {
			continue
		}
		played++
		a, b := lines(first), lines(randomWorld(t, Correct, n))
		if c := lines(randomWorld(t, Correct, n)); a != b && b != c && c != a {
			t.Errorf("world %d is another one each time", n)
		}
	}
}

// lines is a history in an order that does not depend on which of two
// goroutines was faster at the same instant.
func lines(w *world) string {
	var lines []string
	for _, e := range w.history {
		lines = append(lines, e.String())
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
