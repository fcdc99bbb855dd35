// Package generator_test measures the generator as its users run it, a process
// from start to end, beside the go command listing the same packages with
// their export data: that is what any tool which needs types has to wait for.
package generator_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// idemgen is the generator, built once.
var idemgen string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "generator-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	idemgen = filepath.Join(dir, "idemgen")
	build := exec.Command("go", "build", "-o", idemgen, "./cmd/idemgen")
	build.Dir, build.Env = "../..", append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// sizes are the modules that are measured.
var sizes = []struct{ packages, endpoints int }{{1, 1}, {5, 100}, {50, 1000}}

// BenchmarkGenerate generates all packages of a module in one run.
//
//	cold       with an empty build cache and without output: after a checkout
//	warm       with a full build cache and without output
//	unchanged  with a full build cache and all output as it should be
//
// Beside the wall time of idemgen it reports how that compares to the wall time
// of go list -deps -export for the same packages in the same state (x-list),
// the memory of the largest process in both runs (peak-MB, list-peak-MB), and
// how many files were written.
func BenchmarkGenerate(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("endpoints=%d", size.endpoints), func(b *testing.B) {
			m := newModule(b, size.packages, size.endpoints)
			b.Run("cold", func(b *testing.B) {
				if testing.Short() {
					b.Skip("compiles the standard library twice for each size")
				}
				m.measure(b, m.clear, func() []string { return []string{"GOCACHE=" + b.TempDir()} })
			})
			warm := func() []string { return nil }
			b.Run("warm", func(b *testing.B) { m.measure(b, m.clear, warm) })
			b.Run("unchanged", func(b *testing.B) {
				if written := m.measure(b, func(testing.TB) {}, warm); written > 0 {
					b.Errorf("%d files were written, though nothing had changed", written)
				}
			})
		})
	}
}

// measure runs the go command and idemgen in turn, each after prepare has put
// the module into its state, and with what settings adds to the environment. It
// returns how many files were written.
func (m module) measure(b *testing.B, prepare func(testing.TB), settings func() []string) (written int) {
	if settings() == nil {
		// The build cache holds what both need, and the output stands.
		m.list(b, nil)
		m.run(b, nil, idemgen, "./...")
		prepare(b)
		m.list(b, nil)
	}
	var generating, listing time.Duration
	var peak, listPeak int
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		prepare(b)
		list := m.list(b, settings())
		listing += list.took
		listPeak = max(listPeak, list.peak)
		before, extra := m.output(b), settings()
		b.StartTimer()
		run := m.run(b, extra, idemgen, "./...")
		b.StopTimer()
		generating += run.took
		peak = max(peak, run.peak)
		written += changed(before, m.output(b))
		b.StartTimer()
	}
	b.StopTimer()
	b.ReportMetric(float64(generating)/float64(listing), "x-list")
	b.ReportMetric(float64(peak)/(1<<20), "peak-MB")
	b.ReportMetric(float64(listPeak)/(1<<20), "list-peak-MB")
	b.ReportMetric(float64(written)/float64(b.N), "files-written")
	return written
}

// TestUnchanged: the second of two runs writes nothing, whatever the size.
func TestUnchanged(t *testing.T) {
	m := newModule(t, 5, 100)
	m.run(t, nil, idemgen, "./...")
	before := m.output(t)
	if len(before) < 5 {
		t.Fatalf("%d files were generated", len(before))
	}
	if out := m.run(t, nil, idemgen, "-v", "./...").output; out != "" {
		t.Errorf("the second run says %s", out)
	}
	if n := changed(before, m.output(t)); n > 0 {
		t.Errorf("the second run wrote %d files", n)
	}
	m.run(t, nil, "go", "vet", "./...")
}
