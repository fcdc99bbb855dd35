package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// settle asks once more for every payment, now that nothing is attacked any
// more: each key comes to rest with an answer, and those that had one keep it.
func (s *site) settle(ctx context.Context, seed uint64) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute+2*s.target.Lease)
	defer cancel()
	var list []payment
	s.history.mu.Lock()
	for _, attempts := range s.history.keys {
		list = append(list, attempts[0].payment)
	}
	s.history.mu.Unlock()
	queue := make(chan payment)
	var all sync.WaitGroup
	for worker := range s.target.Clients {
		random := rand.New(rand.NewPCG(seed, uint64(2000+worker)))
		all.Go(func() {
			for p := range queue {
				if !s.rest(ctx, random, p) {
					s.report.violate("documented-answer", s.name+" "+p.reference, fmt.Sprintf("the key does not come to rest: %v", ctx.Err()))
				}
			}
		})
	}
	for _, p := range list {
		queue <- p
	}
	close(queue)
	all.Wait()
}

// rest asks for a payment until its answer stands. Where several clients asked
// for different amounts, that of another may have been paid.
func (s *site) rest(ctx context.Context, random *rand.Rand, p payment) bool {
	client := s.fleet.clients.next()
	for {
		a := s.fleet.ask(ctx, random, s.fleet.anywhere(random), client, p)
		if a.outcome == reused {
			p.amount = s.other(p)
		} else if !a.again() {
			return true
		} else if !sleep(ctx, 100*time.Millisecond) {
			return false
		}
	}
}

// other is an amount that was asked for under a payment's key beside its own.
func (s *site) other(p payment) int64 {
	s.history.mu.Lock()
	defer s.history.mu.Unlock()
	for _, a := range s.history.keys[p.reference] {
		if a.amount != p.amount {
			return a.amount
		}
	}
	return p.amount
}
