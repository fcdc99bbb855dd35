// Package bench_test measures what a protected request costs, side by side in
// one run: absolute times drift between machines, ratios hold. Names read
// Scenario/place/contender/inflight=N/body=SIZE.
package bench_test

import (
	"os"
	"testing"
)

// stops are the ends of what all benchmarks share, such as servers.
var stops []func()

func TestMain(m *testing.M) {
	code := m.Run()
	for _, stop := range stops {
		stop()
	}
	os.Exit(code)
}
