package bench_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// honestRate is how many requests a second the honest caller sends, whether
	// or not earlier ones were answered.
	honestRate = 50
	// honestFor is how long it is watched, quiet and under attack.
	honestFor = 6 * time.Second
)

// BenchmarkNeighbour: what an honest caller notices of another one's trouble.
// Its fresh requests arrive at a fixed rate, first alone, then under an attack;
// latencies count from when a request was due, so that a queue cannot hide.
func BenchmarkNeighbour(b *testing.B) {
	for _, attack := range attacks {
		b.Run("postgres/"+attack.name, func(b *testing.B) {
			for b.Loop() {
				t := newTown(b)
				quiet := t.honest(b, attack.path, "quiet")
				stop := attack.begin(b, t)
				attacked := t.honest(b, attack.path, "attacked")
				refused := stop()
				b.ReportMetric(quiet.p99(), "quiet-p99-ms")
				b.ReportMetric(attacked.p99(), "attacked-p99-ms")
				b.ReportMetric(attacked.p99()/quiet.p99(), "p99-ratio")
				b.ReportMetric(float64(attacked.refused), "honest-refused")
				b.ReportMetric(float64(refused), "attacker-requests")
				t.close(b)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// served are the latencies of the honest caller's requests.
type served struct {
	took    []time.Duration
	refused int
}

func (s served) p99() float64 {
	slices.Sort(s.took)
	return float64(s.took[len(s.took)*99/100]) / 1e6
}

// honest sends bob's requests at their rate and waits for all answers.
func (t *town) honest(b *testing.B, path, phase string) served {
	b.Helper()
	n := int(honestFor.Seconds() * honestRate)
	s := served{took: make([]time.Duration, n)}
	var refused atomic.Int64
	var group sync.WaitGroup
	begun := time.Now()
	for i := range n {
		due := begun.Add(time.Duration(i) * time.Second / honestRate)
		time.Sleep(time.Until(due))
		group.Go(func() {
			if status := t.send("bob", fmt.Sprintf("%s-%s-%d", t.run, phase, i), path, `{"qty":1}`); status != http.StatusCreated {
				refused.Add(1)
			}
			s.took[i] = time.Since(due)
		})
	}
	group.Wait()
	s.refused = int(refused.Load())
	return s
}

// send sends one request in process and returns the answer's status.
func (t *town) send(caller, key, path, body string) int {
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	r.Header.Set("Content-Type", kind)
	r.Header.Set(keyHeader, key)
	r.Header.Set("X-Caller", caller)
	w := &discard{header: http.Header{}}
	t.handler.ServeHTTP(w, r)
	return w.status
}

// repeat runs do on n goroutines again and again until stop, which returns how
// often it ran.
func repeat(n int, do func(worker, i int)) (stop func() int64) {
	var ran atomic.Int64
	var group sync.WaitGroup
	done := make(chan struct{})
	for worker := range n {
		group.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				do(worker, i)
				ran.Add(1)
			}
		})
	}
	return func() int64 {
		close(done)
		group.Wait()
		return ran.Load()
	}
}
