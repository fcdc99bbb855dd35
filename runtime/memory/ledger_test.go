package memory_test

import (
	"sync"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime/ledgertest"
	"github.com/idemgen/idemgen/runtime/memory"
)

// clock is a clock that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newLedger() (*memory.Ledger, *clock) {
	c := &clock{now: time.UnixMilli(1_700_000_000_000)}
	return memory.New(memory.WithClock(c.Now)), c
}

func TestConformance(t *testing.T) {
	ledgertest.Run(t, func(*testing.T) ledgertest.Harness {
		ledger, clock := newLedger()
		return ledgertest.Harness{Ledger: ledger, Age: clock.move, Advance: ledger.Advance}
	})
}

// A clock that runs, as services use it, under the age that the cases give it.
func TestConformanceOfTheSystemClock(t *testing.T) {
	ledgertest.Run(t, func(*testing.T) ledgertest.Harness {
		var mu sync.Mutex
		var age time.Duration
		ledger := memory.New(memory.WithClock(func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return time.Now().Add(age)
		}))
		return ledgertest.Harness{
			Ledger:  ledger,
			Advance: ledger.Advance,
			Age: func(d time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				age += d
			},
		}
	})
}
