package bench_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// BenchmarkSteady: fresh keys at the highest rate, whose retention is over after
// five seconds, so that soon there is as much to sweep as is written. What is
// due at the end is what the requests' own sweeps could not keep up with.
func BenchmarkSteady(b *testing.B) {
	for _, f := range families {
		if !f.bare {
			continue
		}
		b.Run(name("inprocess", f.name, warmInFlight, "1KiB"), func(b *testing.B) {
			s := f.shared(b)
			ledger := &countingLedger{Ledger: s.ledger}
			server, err := runtime.NewServer(ledger, func(*http.Request) (string, error) { return "alice", nil })
			if err != nil {
				b.Fatal(err)
			}
			policy := runtime.DefaultPolicy("POST " + path)
			policy.Lease, policy.Timeout, policy.Retain = 5*time.Second, 4*time.Second, 5100*time.Millisecond
			h := server.Handle(policy, runtime.Route{Method: "POST", Pattern: path}, func(*runtime.Request) (runtime.Work, error) {
				return func(context.Context) (*runtime.Response, error) { return answer, nil }, nil
			})
			if err := server.Err(); err != nil {
				b.Fatal(err)
			}
			drive(b, warmInFlight, inProcess(always(h), freshExchange(b, small)), nil)
			if err := server.Close(context.Background()); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(ledger.swept.Load())/float64(b.N), "swept/op")
			left := 0
			for n := -1; n != 0; left += max(n, 0) {
				if n, err = s.ledger.Sweep(context.Background(), 1000); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(left)/float64(b.N), "left/op")
		})
	}
}

// countingLedger counts what is swept.
type countingLedger struct {
	runtime.Ledger
	swept atomic.Int64
}

func (l *countingLedger) Sweep(ctx context.Context, limit int) (int, error) {
	n, err := l.Ledger.Sweep(ctx, limit)
	l.swept.Add(int64(n))
	return n, err
}
