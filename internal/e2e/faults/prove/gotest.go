package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/idemgen/idemgen/prove/faults"
)

// simulate plays random worlds of the engine against a model of the ledger, and
// adds what was found to a report.
func simulate(ctx context.Context, report *faults.Report, seed uint64, steps int) error {
	dir, err := os.MkdirTemp("", "prove-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "simulation.json")
	out, err := goTest(ctx, "github.com/idemgen/idemgen/internal/sim", "-run", "^TestRun$",
		"-sim.seed="+strconv.FormatUint(seed, 10), "-sim.steps="+strconv.Itoa(steps), "-sim.report="+file)
	text, readErr := os.ReadFile(file)
	if readErr != nil {
		return fmt.Errorf("the simulation made no report: %w\n%s", err, out)
	}
	var simulated struct {
		Worlds, Steps int
		Violations    []struct {
			Seed               uint64
			Invariant, Message string
		}
	}
	if err := json.Unmarshal(text, &simulated); err != nil {
		return err
	}
	report.Attacked["simulation: steps"] = simulated.Steps
	report.Attacked["simulation: worlds"] = simulated.Worlds
	for _, v := range simulated.Violations {
		report.Violations = append(report.Violations, faults.Violation{
			Rule: v.Invariant, Where: fmt.Sprintf("simulation, -sim.seed=%d -sim.steps=1", v.Seed), What: v.Message,
		})
	}
	return nil
}

// attack runs the tests that attack a server over raw connections.
func attack(ctx context.Context, report *faults.Report) error {
	out, err := goTest(ctx, "github.com/idemgen/idemgen/internal/e2e/security", "-v")
	passed, failed := strings.Count(out, "--- PASS: "), strings.Count(out, "--- FAIL: ")
	if err != nil && failed == 0 {
		return fmt.Errorf("the security tests did not run: %w\n%s", err, out)
	}
	report.Checked["security: tests"] = passed + failed
	if failed > 0 {
		report.Violations = append(report.Violations, faults.Violation{Rule: "security", Where: "go test -v ./security", What: out})
	}
	return nil
}

// goTest runs the tests of a package and returns what they printed.
func goTest(ctx context.Context, pkg string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "go", append([]string{"test", "-count=1", "-timeout=0", pkg}, args...)...)
	out, err := c.CombinedOutput()
	return string(out), err
}
