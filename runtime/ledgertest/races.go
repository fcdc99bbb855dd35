package ledgertest

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/idemgen/idemgen/runtime"
)

var raceCases = []testCase{
	{"for an absent key have one winner", func(s *suite) {
		const racers = 64
		claims := make([]runtime.Claim, racers)
		for i := range claims {
			claims[i] = s.claim(key("k"))
		}
		winner := s.race(racers, func(i int) (bool, error) {
			_, won, err := s.ledger.Insert(ctx(), claims[i])
			return won, err
		})
		row := s.read(key("k"))
		s.wantOf(row, claims[winner])
		if row.Owner != claims[winner].Owner || row.Generation != 1 {
			s.Errorf("the row is %+v; want generation 1 of racer %d", row, winner)
		}
	}},
	{"to take over have one winner", func(s *suite) {
		for round := range 10 {
			c, f := s.pending(key(fmt.Sprint("k", round)))
			s.endLease(f)
			s.wantOneTaker(c.ID, func(next runtime.Claim) (bool, error) {
				_, won, err := s.ledger.TakeOver(ctx(), f, next)
				return won, err
			})
		}
	}},
	{"to reuse have one winner", func(s *suite) {
		for round := range 10 {
			c, f := s.completed(key(fmt.Sprint("k", round)))
			s.age(far)
			s.wantOneTaker(c.ID, func(next runtime.Claim) (bool, error) {
				_, won, err := s.ledger.Reuse(ctx(), f, next)
				return won, err
			})
		}
	}},
	{"of a late completion with a takeover have one winner", func(s *suite) {
		for round := range 50 {
			c, f := s.pending(key(fmt.Sprint("k", round)))
			s.endLease(f)
			next := s.claim(c.ID)
			winner := s.race(2, func(i int) (bool, error) {
				if i == 0 {
					return s.ledger.Complete(ctx(), completion(f, "late"))
				}
				_, won, err := s.ledger.TakeOver(ctx(), f, next)
				return won, err
			})
			row := s.read(c.ID)
			if completed := winner == 0; row.Completed != completed || (row.Owner == c.Owner) != completed {
				s.Fatalf("racer %d won; the row is %+v", winner, row)
			}
		}
	}},
	{"of a release with a takeover have one winner", func(s *suite) {
		for round := range 50 {
			c, f := s.pending(key(fmt.Sprint("k", round)))
			s.endLease(f)
			next := s.claim(c.ID)
			winner := s.race(2, func(i int) (bool, error) {
				if i == 0 {
					return s.ledger.Release(ctx(), f)
				}
				_, won, err := s.ledger.TakeOver(ctx(), f, next)
				return won, err
			})
			if winner == 0 {
				s.wantAbsent(c.ID)
			} else if row := s.read(c.ID); row.Owner != next.Owner {
				s.Fatalf("the takeover won; the row is %+v", row)
			}
		}
	}},
	{"of sweepers with new claims delete no live row", func(s *suite) {
		for round := range 200 {
			id := key(fmt.Sprint("k", round%3))
			if _, found, err := s.ledger.Read(ctx(), id); err != nil {
				s.Fatal(err)
			} else if !found {
				s.pending(id)
			}
			// The row is past its gone_at from now on.
			row := s.read(id)
			f := seen(id, row)
			done := completion(f, "answer")
			done.Terms = runtime.Terms{}
			s.complete(done)
			next := s.claim(id)
			var claimed runtime.Claimed
			s.together(3, func(i int) error {
				if i > 0 {
					_, err := s.ledger.Sweep(ctx(), 5)
					return err
				}
				c, won, err := s.ledger.Reuse(ctx(), f, next)
				if err == nil && !won {
					c, won, err = s.ledger.Insert(ctx(), next)
				}
				if err == nil && !won {
					err = fmt.Errorf("round %d: neither a reuse nor an insert won a row that was done with", round)
				}
				claimed = c
				return err
			})
			after := s.read(id)
			if after.Owner != next.Owner || after.Completed || after.Generation != claimed.Generation || after.LeaseUntil != claimed.LeaseUntil {
				s.Fatalf("round %d: claimed %+v beside sweepers; the row is %+v", round, claimed, after)
			}
			s.wantOf(after, next)
		}
	}},
	{"of whole requests complete each key once", func(s *suite) {
		const keys, requests = 10, 8
		var completions [keys]atomic.Int64
		claims := make([]runtime.Claim, keys*requests)
		for i := range claims {
			claims[i] = s.claim(key(fmt.Sprint("k", i%keys)))
		}
		s.together(len(claims), func(i int) error {
			c := claims[i]
			claimed, won, err := s.ledger.Insert(ctx(), c)
			if err != nil || !won {
				return err
			}
			stands, err := s.ledger.Complete(ctx(), completion(fence(c, claimed.Generation), fmt.Sprint("answer ", i)))
			if stands {
				completions[i%keys].Add(1)
			}
			return err
		})
		for i := range completions {
			if n := completions[i].Load(); n != 1 {
				s.Errorf("key %d was completed %d times", i, n)
			}
		}
	}},
}

// together runs n goroutines that begin at one moment, and fails the case when
// one of them errs.
func (s *suite) together(n int, run func(i int) error) {
	s.Helper()
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	errs := make([]error, n)
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			<-start
			errs[i] = run(i)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
	for i, err := range errs {
		if err != nil {
			s.Fatalf("racer %d: %v", i, err)
		}
	}
}

// race runs n racers and returns the one that won, of which there must be one.
func (s *suite) race(n int, run func(i int) (bool, error)) int {
	s.Helper()
	won := make([]bool, n)
	s.together(n, func(i int) (err error) {
		won[i], err = run(i)
		return err
	})
	winner := -1
	for i, w := range won {
		if w && winner >= 0 {
			s.Fatalf("racers %d and %d both won", winner, i)
		}
		if w {
			winner = i
		}
	}
	if winner < 0 {
		s.Fatal("no racer won")
	}
	return winner
}

// wantOneTaker lets 16 claims race for a row.
func (s *suite) wantOneTaker(id runtime.ID, take func(runtime.Claim) (bool, error)) {
	s.Helper()
	const racers = 16
	claims := make([]runtime.Claim, racers)
	for i := range claims {
		claims[i] = s.claim(id)
	}
	winner := s.race(racers, func(i int) (bool, error) { return take(claims[i]) })
	if row := s.read(id); row.Owner != claims[winner].Owner || row.Generation != 2 {
		s.Errorf("the row is %+v; want generation 2 of racer %d", row, winner)
	}
}
