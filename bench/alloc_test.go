package bench_test

import (
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime/memory"
)

// BenchmarkAbove: what the protection costs above the bare handler, in memory,
// one request after the other, both in one harness.
func BenchmarkAbove(b *testing.B) {
	b.Run("fresh/body=1KiB", func(b *testing.B) {
		at, x := fresh(b, memory.New(), small)
		above(b, at(0), x)
	})
	b.Run("replay/body=1KiB", func(b *testing.B) {
		at, x := replay(b, memory.New(), small)
		above(b, at(0), x)
	})
}

func above(b *testing.B, h http.Handler, x exchange) {
	b.Helper()
	bareExchange := x
	bareExchange.marker = ""
	plainTime, plainAllocs := cost(b, bare, bareExchange)
	b.ResetTimer()
	took, allocs := cost(b, h, x)
	b.StopTimer()
	b.ReportMetric(allocs-plainAllocs, "allocs-above-bare")
	b.ReportMetric(took-plainTime, "ns-above-bare")
}

// cost is the time in nanoseconds, and the allocations, of one of b.N requests.
func cost(b *testing.B, h http.Handler, x exchange) (ns, allocs float64) {
	b.Helper()
	run := ready(b.N, 1, inProcess(always(h), x))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	err := run()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if err != nil {
		b.Fatal(err)
	}
	return float64(took.Nanoseconds()) / float64(b.N), float64(after.Mallocs-before.Mallocs) / float64(b.N)
}
