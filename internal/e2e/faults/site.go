package faults

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"sync"
	"time"
)

// site is a database with its servers and their clients.
type site struct {
	name    string
	report  *record
	nodes   []*node
	db      *sql.DB // past all proxies, for counting
	history *history
	// unstored are answers that servers could not store, as they say.
	unstored unstored
	fleet    *fleet
	attacks  []attack
	// mend mends what attacks may have left broken.
	mend func() error
	// closers are called at the end, the last first.
	closers []func()
}

func (s *site) onStop(f func()) { s.closers = append(s.closers, f) }

func (s *site) stop() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
}

// start starts the servers and waits until they serve. They run until ctx ends.
func (s *site) start(ctx context.Context, all *sync.WaitGroup) error {
	for _, n := range s.nodes {
		all.Go(func() { n.serve(ctx) })
	}
	return s.await(ctx)
}

func (s *site) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for _, n := range s.nodes {
		if err := n.await(ctx); err != nil {
			return err
		}
	}
	return nil
}

// suffer runs clients and attackers until ctx ends.
func (s *site) suffer(ctx context.Context, seed uint64) {
	var all sync.WaitGroup
	all.Go(func() { s.fleet.work(ctx, seed) })
	for i, a := range s.attacks {
		random := rand.New(rand.NewPCG(seed, uint64(1000+i)))
		all.Go(func() {
			for sleep(ctx, a.every/2+time.Duration(random.Int64N(int64(a.every)))) {
				a.do(ctx, random)
			}
		})
	}
	all.Go(func() {
		for sleep(ctx, 2*time.Second) {
			s.compare(ctx, false)
		}
	})
	all.Wait()
}
