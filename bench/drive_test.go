package bench_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// worker makes what one goroutine repeats: request i.
type worker func() func(i int) error

// drive measures b.N requests, with that many in flight at any time. count
// gives totals of the database, which are reported per request; it may be nil.
func drive(b *testing.B, inFlight int, w worker, count func() counts) {
	b.Helper()
	took := make([]time.Duration, b.N)
	timed := func() func(i int) error {
		do := w()
		return func(i int) error {
			start := time.Now()
			err := do(i)
			took[i] = time.Since(start)
			return err
		}
	}
	before := counts{}
	if count != nil {
		before = count()
	}
	run := ready(b.N, inFlight, timed)
	ownBefore, serversBefore := cpu()
	b.ReportAllocs()
	b.ResetTimer()
	err := run()
	b.StopTimer()
	if err != nil {
		b.Fatal(err)
	}
	own, servers := cpu()
	b.ReportMetric(float64(own-ownBefore)/1e3/float64(b.N), "cpu-us/op")
	if servers > serversBefore {
		b.ReportMetric(float64(servers-serversBefore)/1e3/float64(b.N), "server-cpu-us/op")
	}
	if count != nil {
		for name, total := range count() {
			b.ReportMetric((total-before[name])/float64(b.N), name+"/op")
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2])/1e3, "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100])/1e3, "p99-us")
}

// counts are totals by name.
type counts map[string]float64

// ready makes the workers, so that what runs later is requests alone: n of
// them, ended by the first error.
func ready(n, inFlight int, w worker) (run func() error) {
	workers := make([]func(int) error, min(n, inFlight))
	for i := range workers {
		workers[i] = w()
	}
	return func() error {
		var next atomic.Int64
		var failed atomic.Value
		var group sync.WaitGroup
		for _, do := range workers {
			group.Go(func() {
				for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
					if err := do(int(i)); err != nil {
						failed.CompareAndSwap(nil, &err)
						next.Store(int64(n))
					}
				}
			})
		}
		group.Wait()
		if err, ok := failed.Load().(*error); ok {
			return *err
		}
		return nil
	}
}

// warmInFlight is how many requests are in flight before a measurement: above
// what the pools hold, so that each of their connections is used.
const warmInFlight = 2 * poolSize

// send runs n requests that are not measured.
func send(b *testing.B, n int, w worker) {
	b.Helper()
	if err := ready(n, warmInFlight, w)(); err != nil {
		b.Fatal(err)
	}
}
