package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// results are what was measured, by the name of the benchmark. A benchmark has
// one sample for each round.
type results struct {
	names   []string // in the order of the first round
	samples map[string][]sample
	cpu     string
	system  string
	cores   string // GOMAXPROCS
}

// sample is one measurement: values by unit.
type sample map[string]float64

var cores = regexp.MustCompile(`-(\d+)$`)

// parse reads lines of benchmarks. A run that failed is an error: half of the
// numbers would be compared with nothing.
func parse(in io.Reader) (*results, error) {
	r := &results{samples: map[string][]sample{}, cores: "1"}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	failed := false
	for lines.Scan() {
		line := lines.Text()
		failed = failed || strings.HasPrefix(line, "FAIL") || strings.HasPrefix(line, "--- FAIL")
		if value, ok := strings.CutPrefix(line, "cpu: "); ok {
			r.cpu = value
		}
		if value, ok := strings.CutPrefix(line, "goos: "); ok {
			r.system = value
		}
		if value, ok := strings.CutPrefix(line, "goarch: "); ok {
			r.system = strings.TrimSuffix(r.system, "/"+value) + "/" + value
		}
		if strings.HasPrefix(line, "Benchmark") {
			if err := r.add(line); err != nil {
				return nil, err
			}
		}
	}
	switch {
	case lines.Err() != nil:
		return nil, lines.Err()
	case failed:
		return nil, errors.New("the benchmarks failed")
	case len(r.names) == 0:
		return nil, errors.New("there are no benchmarks in the input")
	}
	return r, nil
}

// add takes a line such as "BenchmarkFresh/a-2 100 5 ns/op 7 p50-us".
func (r *results) add(line string) error {
	fields := strings.Fields(line)
	if len(fields) < 4 || len(fields)%2 != 0 {
		return fmt.Errorf("this line is no measurement: %q", line)
	}
	name := strings.TrimPrefix(fields[0], "Benchmark")
	if m := cores.FindStringSubmatch(name); m != nil {
		r.cores, name = m[1], strings.TrimSuffix(name, m[0])
	}
	s := sample{}
	for i := 2; i < len(fields); i += 2 {
		value, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return fmt.Errorf("this line is no measurement: %q: %w", line, err)
		}
		s[fields[i+1]] = value
	}
	if r.samples[name] == nil {
		r.names = append(r.names, name)
	}
	r.samples[name] = append(r.samples[name], s)
	return nil
}

// value is the median of a metric over the rounds.
func (r *results) value(name, unit string) (float64, bool) {
	var values []float64
	for _, s := range r.samples[name] {
		if v, ok := s[unit]; ok {
			values = append(values, v)
		}
	}
	return median(values)
}

// ratio is how many times the throughput of base a benchmark reached: the
// median of the rounds' own ratios, since a round is the shortest time in
// which both were measured.
func (r *results) ratio(name, base string) (float64, bool) {
	var ratios []float64
	for i := range min(len(r.samples[name]), len(r.samples[base])) {
		if ours := r.samples[name][i]["ns/op"]; ours > 0 {
			ratios = append(ratios, r.samples[base][i]["ns/op"]/ours)
		}
	}
	return median(ratios)
}

func median(values []float64) (float64, bool) {
	if len(values) == 0 {
		return 0, false
	}
	values = slices.Clone(values)
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 0 {
		return (values[middle-1] + values[middle]) / 2, true
	}
	return values[middle], true
}
