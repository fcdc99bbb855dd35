package ledgertest

import (
	"time"

	"github.com/idemgen/idemgen/runtime"
)

var takeOverCases = []testCase{
	{"gives a row whose lease is over to a new owner", func(s *suite) {
		c, f := s.pending(key("k"))
		s.age(lease)
		before := s.read(c.ID)
		next := s.claim(c.ID)
		next.Terms = runtime.Terms{Lease: 3 * time.Hour, Retain: 5 * time.Hour, Gone: 7 * time.Hour}
		claimed := s.takeOver(f, next)
		row := s.read(c.ID)
		s.wantLease(claimed, row, next.Terms)
		if row.Generation != 2 || row.Owner != next.Owner || row.Completed {
			s.Errorf("the row is %+v; want generation 2 of the new owner", row)
		}
		if row.ClaimedAt <= before.ClaimedAt || row.ClaimedAt < claimed.Now {
			s.Errorf("claimed at %d, before that at %d, now %d", row.ClaimedAt, before.ClaimedAt, claimed.Now)
		}
	}},
	{"keeps the row's operation, policy and fingerprint", func(s *suite) {
		c, f := s.pending(key("k"))
		s.age(lease)
		s.takeOver(f, s.claim(c.ID))
		s.wantOf(s.read(c.ID), c)
	}},
	{"wins nothing while the lease is alive", func(s *suite) {
		c, f := s.pending(key("k"))
		s.losesTakeOver(c.ID, f)
		s.age(lease - time.Hour)
		s.losesTakeOver(c.ID, f)
		s.age(time.Hour)
		s.takeOver(f, s.claim(c.ID))
	}},
	{"wins a lease that was ended", func(s *suite) {
		c, f := s.pending(key("k"))
		s.endLease(f)
		s.takeOver(f, s.claim(c.ID))
	}},
	{"wins a row until it is expired", func(s *suite) {
		c, f := s.pending(key("k"))
		s.age(lease + retain - time.Hour)
		s.takeOver(f, s.claim(c.ID))
	}},
	{"wins nothing of an expired row", func(s *suite) {
		c, f := s.pending(key("k"))
		s.age(lease + retain)
		s.losesTakeOver(c.ID, f)
		s.age(gone)
		s.losesTakeOver(c.ID, f)
	}},
	{"wins nothing of a completed row", func(s *suite) {
		c, f := s.completed(key("k"))
		s.losesTakeOver(c.ID, f)
		s.age(lease)
		s.losesTakeOver(c.ID, f)
		s.age(far)
		s.losesTakeOver(c.ID, f)
	}},
	{"wins nothing of a key without a row", func(s *suite) {
		id := key("k")
		s.lostTakeOver(runtime.Fence{ID: id, Generation: 1, Owner: s.owner()}, s.claim(id))
		s.wantAbsent(id)
	}},
	{"wins nothing under another generation", func(s *suite) {
		c, f := s.pending(key("k"))
		s.age(lease)
		for _, g := range []int64{0, 2, -1} {
			s.losesTakeOver(c.ID, runtime.Fence{ID: c.ID, Generation: g, Owner: f.Owner})
		}
	}},
	{"wins nothing under another owner", func(s *suite) {
		c, f := s.pending(key("k"))
		s.age(lease)
		s.losesTakeOver(c.ID, runtime.Fence{ID: c.ID, Generation: f.Generation, Owner: s.owner()})
		s.losesTakeOver(c.ID, runtime.Fence{ID: c.ID, Generation: f.Generation})
	}},
	{"wins nothing after another takeover", func(s *suite) {
		c, f := s.pending(key("k"))
		s.endLease(f)
		winner := s.claim(c.ID)
		claimed := s.takeOver(f, winner)
		s.losesTakeOver(c.ID, f)
		s.endLease(fence(winner, claimed.Generation))
		s.losesTakeOver(c.ID, f)
	}},
	{"wins nothing when the row was released and claimed anew meanwhile", func(s *suite) {
		c, f := s.pending(key("k"))
		s.endLease(f)
		s.release(f)
		_, anew := s.pending(c.ID)
		s.endLease(anew)
		if anew.Generation != f.Generation {
			s.Fatalf("generation %d; want %d again, or the case shows nothing", anew.Generation, f.Generation)
		}
		s.losesTakeOver(c.ID, f)
	}},
	{"wins nothing when the row was swept and claimed anew meanwhile", func(s *suite) {
		c, f := s.pending(key("k"))
		s.age(far)
		s.sweep(10, 1)
		_, anew := s.pending(c.ID)
		s.endLease(anew)
		s.losesTakeOver(c.ID, f)
	}},
	{"wins nothing when the lease was renewed meanwhile", func(s *suite) {
		c, f := s.pending(key("k"))
		s.age(lease)
		s.renew(f, c.Terms)
		s.losesTakeOver(c.ID, f)
	}},
	{"sent again by its owner reports the claim that stands", func(s *suite) {
		c, f := s.pending(key("k"))
		s.endLease(f)
		next := s.claim(c.ID)
		first := s.takeOver(f, next)
		before := s.read(c.ID)
		again := s.takeOver(f, next)
		s.wantUnchanged(c.ID, before)
		if again.Generation != 2 || again.ClaimedAt != first.ClaimedAt || again.LeaseUntil != first.LeaseUntil || again.Now < first.Now {
			s.Errorf("sent again: %+v; first %+v", again, first)
		}
	}},
	{"sent again by an owner that has completed is lost", func(s *suite) {
		c, f := s.pending(key("k"))
		s.endLease(f)
		next := s.claim(c.ID)
		s.complete(completion(fence(next, s.takeOver(f, next).Generation), "answer"))
		before := s.read(c.ID)
		s.lostTakeOver(f, next)
		s.wantUnchanged(c.ID, before)
	}},
	{"lets claimed_at grow with every claim of the row", func(s *suite) {
		c, f := s.pending(key("k"))
		before := s.read(c.ID)
		for range 50 {
			s.endLease(f)
			next := s.claim(c.ID)
			claimed := s.takeOver(f, next)
			if claimed.Generation != before.Generation+1 || claimed.ClaimedAt <= before.ClaimedAt {
				s.Fatalf("claimed %+v after generation %d, claimed at %d", claimed, before.Generation, before.ClaimedAt)
			}
			f, before = fence(next, claimed.Generation), s.read(c.ID)
		}
	}},
	{"lets claimed_at grow although the clock was set back", func(s *suite) {
		c, f := s.pending(key("k"))
		s.age(-time.Hour)
		s.endLease(f)
		before := s.read(c.ID)
		claimed := s.takeOver(f, s.claim(c.ID))
		if claimed.ClaimedAt != before.ClaimedAt+1 || claimed.ClaimedAt <= claimed.Now {
			s.Errorf("claimed %+v; want one above %d", claimed, before.ClaimedAt)
		}
		s.wantLease(claimed, s.read(c.ID), c.Terms)
	}},
}

func (s *suite) losesTakeOver(id runtime.ID, at runtime.Fence) {
	s.Helper()
	before := s.read(id)
	s.lostTakeOver(at, s.claim(id))
	s.wantUnchanged(id, before)
}
