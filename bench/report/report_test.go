package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rounds are two rounds of a short run. The second was measured on a machine
// that was ten times as slow, which no ratio may show.
const rounds = `goos: linux
goarch: amd64
pkg: example.com/bench
cpu: Some CPU
BenchmarkAbove/fresh/body=1KiB-2   	 100	 2000 ns/op	 12.00 allocs-above-bare	 2600 ns-above-bare
BenchmarkFresh/inprocess/postgres-pair/inflight=32-2   	 100	 130 ns/op	 2.000 commits/op
BenchmarkFresh/inprocess/postgres/inflight=32/body=1KiB-2   	 100	 100 ns/op	 0.4 commits/op	 40 cpu-us/op	 5000 p50-us	 60.5 server-cpu-us/op	 7 allocs/op
BenchmarkFresh/inprocess/postgres-pair/inflight=128-2   	 100	 249 ns/op
BenchmarkFresh/inprocess/postgres/inflight=128/body=1KiB-2   	 100	 100 ns/op
PASS
goos: linux
goarch: amd64
BenchmarkFresh/inprocess/postgres-pair/inflight=32-2   	 100	 1300 ns/op	 2.000 commits/op
BenchmarkFresh/inprocess/postgres/inflight=32/body=1KiB-2   	 100	 1000 ns/op	 0.6 commits/op	 40 cpu-us/op	 5000 p50-us	 60.5 server-cpu-us/op	 7 allocs/op
BenchmarkFresh/inprocess/postgres-pair/inflight=128-2   	 100	 2490 ns/op
BenchmarkFresh/inprocess/postgres/inflight=128/body=1KiB-2   	 100	 1000 ns/op
PASS
`

func TestReport(t *testing.T) {
	docs := t.TempDir()
	var out, echo bytes.Buffer
	if err := run(strings.NewReader(rounds), &out, &echo, docs, "make bench"); err != nil {
		t.Fatal(err)
	}
	if echo.String() != rounds {
		t.Errorf("the input was not repeated: %s", &echo)
	}
	for _, line := range []string{
		"`make bench` on linux/amd64, Some CPU, 2 of ",
		"medians of 2 rounds",
		"| PostgreSQL, fresh key, 32 in flight, to the bare two statements | 1.30 times | at least 1.3 times | met |",
		"| PostgreSQL, fresh key, 128 in flight, to the bare two statements | 2.49 times | at least 2.5 times | **missed** |",
		"| PostgreSQL, fresh key, 1 in flight, to the bare two statements |  | at least 0.909 times | not measured |",
		"| memory, fresh key, allocations above the bare handler | 12.0 | at most 12 | met |",
		"| memory, fresh key, nanoseconds above the bare handler | 2600.0 | at most 2500 | **missed** |",
		"| `Fresh/inprocess/postgres/inflight=32/body=1KiB` | 1,818,182 | 1.3 | 5.00 |  | 40.0 | 60.5 | 7 |  | 0.50 |  |",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("this is missing: %s", line)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
	if text, err := os.ReadFile(filepath.Join(docs, "bench.md")); err != nil || string(text) != out.String() {
		t.Errorf("bench.md is not what was printed: %v", err)
	}
	picture, err := os.ReadFile(filepath.Join(docs, "bench.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(picture)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("bench.svg: %v", err)
		}
	}
	if n := strings.Count(string(picture), `height="11"`); n != 4 {
		t.Errorf("bench.svg has %d bars; 4 were measured", n)
	}
}

func TestReportRefuses(t *testing.T) {
	for name, in := range map[string]string{
		"a failed run":           rounds + "FAIL\n",
		"nothing":                "PASS\n",
		"a line broken by a log": "BenchmarkFresh/a-2   \t2026/01/01 WARN something\n",
		"a line of words":        "BenchmarkFresh/a-2 many 5 ns/op x y\n",
	} {
		if err := run(strings.NewReader(in), io.Discard, io.Discard, "", ""); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestBaseOf(t *testing.T) {
	for name, base := range map[string]string{
		"Fresh/inprocess/sqlite-apart/inflight=16/body=1KiB": "Fresh/inprocess/sqlite-pair/inflight=16",
		"Mismatch/inprocess/mariadb/inflight=8/body=1KiB":    "Replay/inprocess/mariadb-read/inflight=8",
		"Fresh/inprocess/memory/inflight=32/body=64KiB":      "Bare/inprocess/handler/inflight=32/body=64KiB",
		"Replay/http/postgres/inflight=32/body=1KiB":         "Bare/http/handler/inflight=32/body=1KiB",
		"Fresh/http/fiber-memory/inflight=32/body=1KiB":      "Bare/http/fiber-handler/inflight=32/body=1KiB",
		"Fresh/inprocess/sqlite-pair/inflight=16":            "",
	} {
		if got := baseOf(name); got != base {
			t.Errorf("%s is compared with %q; it should be %q", name, got, base)
		}
	}
}
