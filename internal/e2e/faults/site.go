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
	report  *Report
	nodes   []*node
	db      *sql.DB // past all proxies, for counting
	history *history
	fleet   *fleet
	attacks []attack
	// heal mends what attacks may have left broken.
	heal func() error
	stop func()
}

// attack is something bad that happens again and again.
type attack struct {
	every time.Duration // on average
	do    func(context.Context, *rand.Rand)
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

// killServer kills any server.
func (s *site) killServer(_ context.Context, random *rand.Rand) {
	n := s.nodes[random.IntN(len(s.nodes))]
	if !n.attacked.TryLock() {
		return
	}
	defer n.attacked.Unlock()
	if n.kill(n.args) {
		s.report.attacks.add("servers killed ("+s.name+")", 1)
	}
}
