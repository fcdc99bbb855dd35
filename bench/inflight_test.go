package bench_test

import (
	"log/slog"
	"net/http"
	goruntime "runtime"
	"sync"
	"testing"
)

// held is how many requests are in flight in BenchmarkInFlight.
const held = 10_000

// BenchmarkInFlight: the memory of the process while ten thousand requests are
// at work, each with a key of its own, above what they take in the bare handler.
func BenchmarkInFlight(b *testing.B) {
	// Ten thousand completions at once take a database longer than the runtime
	// waits, which says so for each and goes on in the background.
	logger := slog.Default()
	defer slog.SetDefault(logger)
	slog.SetDefault(slog.New(slog.DiscardHandler))
	for _, f := range families {
		b.Run(name("inprocess", f.name, held, "1KiB"), func(b *testing.B) {
			for b.Loop() {
				gate := newGate()
				bareBytes := atWork(b, gated(gate), gate)
				gate = newGate()
				bytes := atWork(b, protect(b, f.shared(b).ledger, gate), gate)
				b.ReportMetric(bareBytes/held, "bare-B/request")
				b.ReportMetric((bytes-bareBytes)/held, "B-above-bare/request")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// gated is the bare handler, at the gate before it answers.
func gated(gate *gate) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		gate.pass()
		bare(w, r)
	})
}

// atWork is how much memory the requests take while all are at work.
func atWork(b *testing.B, h http.Handler, gate *gate) float64 {
	b.Helper()
	do := inProcess(always(h), freshExchangeOf(held, small))
	before := inUse()
	var group sync.WaitGroup
	for i := range held {
		group.Go(func() {
			if err := do()(i); err != nil {
				b.Error(err)
			}
		})
	}
	for range held {
		<-gate.begun
	}
	bytes := inUse() - before
	close(gate.opened)
	group.Wait()
	return bytes
}

// inUse is the memory of heap and stacks that is in use.
func inUse() float64 {
	goruntime.GC()
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}
