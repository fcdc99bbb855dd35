package faults

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// attack is something bad that happens again and again.
type attack struct {
	every time.Duration // on average
	do    func(context.Context, *rand.Rand)
}

func (s *site) attacked(what string, times int) {
	s.report.attacked(s.name+": "+what, times)
}

// anyNode is a server that nobody else attacks, or nil. Its lock is held.
func (s *site) anyNode(random *rand.Rand) *node {
	for _, i := range random.Perm(len(s.nodes)) {
		if s.nodes[i].attacked.TryLock() {
			return s.nodes[i]
		}
	}
	return nil
}

// killServer kills a server with SIGKILL. Its next life is as its first was.
func (s *site) killServer(_ context.Context, random *rand.Rand) {
	n := s.anyNode(random)
	if n == nil {
		return
	}
	defer n.attacked.Unlock()
	if n.kill() {
		s.attacked("servers killed", 1)
	}
}

// pauseServer stops a server for longer than a lease, and lets it go on.
func (s *site) pauseServer(ctx context.Context, random *rand.Rand) {
	n := s.anyNode(random)
	if n == nil {
		return
	}
	defer n.attacked.Unlock()
	what, stood, ok := n.pause(ctx, s.target.Lease+100*time.Millisecond+time.Duration(random.Int64N(int64(1500*time.Millisecond))))
	if ok {
		s.attacked("servers paused past the lease", 1)
		s.attacked(what+" paused past the lease", stood)
	}
}

// crowd is how many clients come at once to a server with few connections.
const crowd = 30

// exhaustPool sends a server a crowd, and where it is known how, it starts it
// again with few connections to its database before.
func (s *site) exhaustPool(ctx context.Context, random *rand.Rand) {
	n := s.anyNode(random)
	if n == nil {
		return
	}
	defer n.attacked.Unlock()
	if s.target.Squeeze != nil {
		if !n.kill(s.target.Squeeze(random)...) {
			return
		}
		s.attacked("servers killed", 1)
	}
	starting, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if n.await(starting) != nil {
		return
	}
	var all sync.WaitGroup
	for range crowd {
		own := rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))
		all.Go(func() {
			if p, ok := s.fleet.invent(ctx, own); ok {
				s.fleet.ask(ctx, own, n, s.fleet.clients.next(), p)
			}
		})
	}
	all.Wait()
	if s.target.Squeeze == nil {
		s.attacked("crowds at one server", 1)
		return
	}
	s.attacked("pools exhausted", 1)
	if s.target.Waits != nil {
		s.attacked("waits for a connection of an exhausted pool", s.target.Waits(ctx, n.address()))
	}
}

// harmLine harms the way to something for a while. Lives change when
// connections may have ended with a process, which do not count; without it
// none do.
func (s *site) harmLine(ctx context.Context, random *rand.Rand, l *Line, to string, lives func() int64) {
	h := harms[random.IntN(len(harms))]
	if !l.busy.TryLock() {
		return
	}
	defer l.busy.Unlock()
	if lives == nil {
		h.cuts, lives = false, func() int64 { return 0 }
	}
	life := lives()
	ended, err := l.suffer(ctx, random, h)
	if err != nil {
		s.report.broken(err)
		return
	}
	s.attacked(h.name+" on the way to "+to, 1)
	if h.cuts && life == lives() {
		s.attacked("connections cut", ended)
	}
}

// harmCommits cuts connections around a few COMMITs.
func (s *site) harmCommits(ctx context.Context, random *rand.Rand, l *Line) {
	place := commits[random.IntN(len(commits))]
	if !l.busy.TryLock() {
		return
	}
	defer l.busy.Unlock()
	place.arm(l.around, s.target.Database.Commit, 1+random.IntN(16))
	sleep(ctx, time.Duration(random.Int64N(int64(time.Second))))
	cut := l.around.Broken()
	place.arm(l.around, s.target.Database.Commit, 0)
	s.attacked("connections cut", cut)
	s.attacked("connections cut "+place.name+" a commit", cut)
}
