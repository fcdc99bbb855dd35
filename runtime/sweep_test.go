package runtime_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestSweepFollowsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		limits := make(chan int, 10)
		running, most := atomic.Int32{}, atomic.Int32{}
		g.ledger.sweep = func(ctx context.Context, limit int) (int, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			time.Sleep(time.Second)
			limits <- limit
			return limit, nil // so that the next may follow at once
		}
		p := policy()
		p.Sweep = 20
		h := g.typed(p, created)
		const bursts, requests = 3, 20
		for burst := range bursts {
			time.Sleep(2 * time.Second)
			for i := range requests {
				do(h, request(fmt.Sprint("k", burst, "-", i), ""))
			}
		}
		time.Sleep(2 * time.Second)
		do(h, request("last", ""))
		if err := g.server.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		close(limits)
		total := 0
		for limit := range limits {
			total += limit
		}
		if put := (bursts*requests + 1) * p.Sweep; total == 0 || total > put || most.Load() != 1 {
			t.Errorf("sweeps of %d rows in all, %d at once; want at most %d rows, one at once", total, most.Load(), put)
		}
	})
}

// Requests that find nothing due ask once a second; where more is due than one
// sweep may clear, the next follows at once.
func TestSweepsOfNothingAreRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		var sweeps, due int
		g.ledger.sweep = func(_ context.Context, limit int) (int, error) {
			sweeps++
			n := min(limit, due)
			due -= n
			return n, nil
		}
		p := policy()
		p.Sweep = 100
		h := g.typed(p, created)
		requests := func(name string, n int) (asked int) {
			time.Sleep(2 * time.Second)
			sweeps = 0
			for i := range n {
				do(h, request(fmt.Sprint(name, i), ""))
				synctest.Wait()
			}
			return sweeps
		}
		if asked := requests("idle", 50); asked != 1 {
			t.Errorf("%d sweeps of nothing within a second", asked)
		}
		// What the idle requests put by is worth one sweep of the largest size;
		// then each request is worth its own.
		due = 1550
		if asked := requests("busy", 50); due != 0 || asked != 1+5+1 {
			t.Errorf("%d sweeps left %d of 1550 due rows", asked, due)
		}
	})
}
