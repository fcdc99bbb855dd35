package sim

import (
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"
)

var (
	seedFlag   = flag.Uint64("sim.seed", 0, "seed of the first world; 0 takes one from the clock")
	stepsFlag  = flag.Int("sim.steps", 100_000, "scheduler steps of TestRun")
	reportFlag = flag.String("sim.report", "", "file for TestRun's report, as JSON")
)

func seed(t *testing.T) uint64 {
	s := *seedFlag
	if s == 0 {
		s = uint64(time.Now().UnixNano()) % 1e9
	}
	t.Logf("seed %d", s)
	return s
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
}

// fail prints how to play a violation again, and the first one's history.
func fail(t *testing.T, report Report) {
	t.Helper()
	for i, v := range report.Violations {
		if i == 0 {
			t.Errorf("history:\n%s", v.History)
		}
		if i < 20 {
			t.Errorf("%s: %s (go test ./internal/sim -run 'TestRun$' -sim.seed=%d -sim.steps=1)", v.Invariant, v.Message, v.Seed)
		}
	}
}
