package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// runner runs tests on broken sources.
type runner struct {
	root string
	dir  string // for the broken files
	took map[test]time.Duration
}

// result is what became of a mutation.
type result struct {
	mutation
	outcome outcome
}

type outcome string

const (
	caught   outcome = "caught"
	survived outcome = "SURVIVED"
	unbuilt  outcome = "DOES NOT COMPILE" // and so is no mutation
)

// baseline runs the named tests on the sources as they are. A test that fails
// by itself, or that is not there, would catch everything or nothing.
func (r *runner) baseline(chosen []mutation) error {
	wanted := map[test][]string{} // the names of each run; whole tests of a package run together
	for _, m := range chosen {
		run := m.test
		if run.name = ""; strings.Contains(m.test.name, "/") {
			run.name = m.test.name
		}
		if !slices.Contains(wanted[run], m.test.name) {
			wanted[run] = append(wanted[run], m.test.name)
		}
	}
	for run, names := range wanted {
		pattern := run.pattern()
		if run.name == "" {
			pattern = "^(" + strings.Join(names, "|") + ")$"
		}
		start := time.Now()
		output, err := r.test(run, pattern, "")
		for _, name := range names {
			r.took[test{run.module, run.pkg, name}] = time.Since(start)
			if err != nil || !strings.Contains(output, "--- PASS: "+name+" (") {
				return fmt.Errorf("%s in %s/%s does not pass without a mutation: %v\n%s", name, run.module, run.pkg, err, output)
			}
		}
	}
	return nil
}

// tryAll runs the mutations, as many at a time as there are processors: some
// make their test hang, which is no work.
func (r *runner) tryAll(chosen []mutation) ([]result, error) {
	results, errs := make([]result, len(chosen)), make([]error, len(chosen))
	var wg sync.WaitGroup
	var next, done atomic.Int64
	for range runtime.NumCPU() {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(chosen); i = int(next.Add(1)) - 1 {
				m := chosen[i]
				output, outcome, err := r.broken(m, m.test.pattern())
				if err != nil {
					errs[i] = fmt.Errorf("%s: %s: %w\n%s", m.file, m.what, err, output)
				}
				results[i] = result{m, outcome}
				fmt.Fprintf(os.Stderr, "%d/%d %-8s %s: %s\n", done.Add(1), len(chosen), outcome, m.file, m.what)
			}
		})
	}
	wg.Wait()
	return results, errors.Join(errs...)
}

// find prints which tests of the package fail under each mutation.
func (r *runner) find(chosen []mutation) error {
	for _, m := range chosen {
		output, outcome, err := r.broken(m, ".")
		if err != nil {
			return fmt.Errorf("%s: %s: %w\n%s", m.file, m.what, err, output)
		}
		fmt.Printf("%s: %s: %s\n", m.file, m.what, outcome)
		for _, line := range failures.FindAllString(output, -1) {
			fmt.Println("   ", line)
		}
	}
	return nil
}

var failures = regexp.MustCompile(`(?m)^\s*--- FAIL: \S+|^panic: .*|^fatal error: .*|^\S+broken.go:.*`)

// broken runs tests with a mutation in place.
func (r *runner) broken(m mutation, pattern string) (output string, became outcome, err error) {
	path := filepath.Join(r.root, filepath.FromSlash(m.file))
	text, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	changed, err := m.apply(string(text))
	if err != nil {
		return "", "", err
	}
	dir, err := os.MkdirTemp(r.dir, "")
	if err != nil {
		return "", "", err
	}
	replacement := filepath.Join(dir, "broken.go")
	if err := os.WriteFile(replacement, []byte(changed), 0o644); err != nil {
		return "", "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: replacement}})
	if err != nil {
		return "", "", err
	}
	overlayPath := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayPath, overlay, 0o644); err != nil {
		return "", "", err
	}
	output, err = r.test(m.test, pattern, overlayPath)
	var exit *exec.ExitError
	switch {
	case strings.Contains(output, "[build failed]") || strings.Contains(output, "[setup failed]"):
		return output, unbuilt, nil
	case errors.As(err, &exit) && failures.MatchString(output):
		return output, caught, nil
	}
	// An error is now one of the test's surroundings: a server that did not
	// start, say.
	return output, survived, err
}

// test runs tests of one package. The race detector is left out: what a break
// changes is what the program does, and the tests are many. A test that takes
// much longer than it did without a mutation hangs.
func (r *runner) test(t test, pattern, overlay string) (string, error) {
	limit := 10 * time.Minute
	if took, known := r.took[t]; known {
		limit = 30*time.Second + 5*took
	}
	args := []string{"test", "-count=1", "-vet=off", "-timeout", limit.String(), "-v", "-run", pattern}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.Command("go", append(args, t.pkg)...)
	cmd.Dir = filepath.Join(r.root, filepath.FromSlash(t.module))
	cmd.Env = append(os.Environ(), "GOWORK=off")
	output, err := cmd.CombinedOutput()
	return string(output), err
}
