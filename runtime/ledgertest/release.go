package ledgertest

import (
	"time"

	"github.com/idemgen/idemgen/runtime"
)

var releaseCases = []testCase{
	{"deletes a pending claim", func(s *suite) {
		c, f := s.pending(key("k"))
		s.release(f)
		s.wantAbsent(c.ID)
		s.insert(s.claim(c.ID))
	}},
	{"deletes a claim after its lease, even after its expiry", func(s *suite) {
		c, f := s.pending(key("k"))
		s.age(lease)
		s.release(f)
		s.wantAbsent(c.ID)
		c, f = s.pending(key("k"))
		s.age(far)
		s.release(f)
		s.wantAbsent(c.ID)
		s.sweep(10, 0)
	}},
	{"reports false for a claim that was released", func(s *suite) {
		_, f := s.pending(key("k"))
		s.release(f)
		if held, err := s.ledger.Release(ctx(), f); held || err != nil {
			s.Errorf("Release of a released claim = %v, %v; want false", held, err)
		}
	}},
	{"deletes no other key", func(s *suite) {
		_, f := s.pending(key("k"))
		neighbour, _ := s.pending(key("l"))
		before := s.read(neighbour.ID)
		s.release(f)
		s.wantUnchanged(neighbour.ID, before)
	}},
}

var endLeaseCases = []testCase{
	{"ends the lease now and changes nothing else", func(s *suite) {
		c, f := s.pending(key("k"))
		before := s.read(c.ID)
		s.endLease(f)
		row := s.read(c.ID)
		if row.LeaseUntil < before.Now || row.LeaseUntil > row.Now {
			s.Errorf("the lease ended at %d; want between %d and %d", row.LeaseUntil, before.Now, row.Now)
		}
		row.LeaseUntil = before.LeaseUntil
		if !same(row, before) {
			s.Errorf("the row is %+v, before that %+v", row, before)
		}
	}},
	{"leaves a lease that is over as it is", func(s *suite) {
		c, f := s.pending(key("k"))
		s.age(lease + time.Hour)
		before := s.read(c.ID)
		s.endLease(f)
		s.wantUnchanged(c.ID, before)
	}},
	{"repeated reports true", func(s *suite) {
		c, f := s.pending(key("k"))
		s.endLease(f)
		before := s.read(c.ID)
		s.endLease(f)
		s.wantUnchanged(c.ID, before)
	}},
	{"leaves the claim to its owner until a takeover", func(s *suite) {
		c, f := s.pending(key("k"))
		s.endLease(f)
		done := completion(f, "answer")
		s.complete(done)
		s.wantAnswer(s.read(c.ID), done.Answer)
	}},
}

// fencedWrites are the writes that a fence admits, each with what it reported.
var fencedWrites = []struct {
	name  string
	write func(*suite, runtime.Fence) (bool, error)
}{
	{"Renew", func(s *suite, f runtime.Fence) (bool, error) {
		_, held, err := s.ledger.Renew(ctx(), f, runtime.Terms{Lease: 9 * time.Hour})
		return held, err
	}},
	{"Complete", func(s *suite, f runtime.Fence) (bool, error) {
		return s.ledger.Complete(ctx(), completion(f, "of a stale claim"))
	}},
	{"Release", func(s *suite, f runtime.Fence) (bool, error) { return s.ledger.Release(ctx(), f) }},
	{"EndLease", func(s *suite, f runtime.Fence) (bool, error) { return s.ledger.EndLease(ctx(), f) }},
}

// wantFencedOut says that no write is admitted by a fence.
func (s *suite) wantFencedOut(fences ...runtime.Fence) {
	s.Helper()
	for _, f := range fences {
		before, existed, err := s.ledger.Read(ctx(), f.ID)
		if err != nil {
			s.Fatal(err)
		}
		for _, w := range fencedWrites {
			if held, err := w.write(s, f); held || err != nil {
				s.Errorf("%s under generation %d, owner %q = %v, %v; want it fenced out", w.name, f.Generation, f.Owner[:], held, err)
			}
			if existed {
				s.wantUnchanged(f.ID, before)
			} else {
				s.wantAbsent(f.ID)
			}
		}
	}
}

var fenceCases = []testCase{
	{"admit nothing for a key without a row", func(s *suite) {
		s.wantFencedOut(runtime.Fence{ID: key("k"), Generation: 1, Owner: s.owner()}, runtime.Fence{ID: key("k")})
	}},
	{"admit nothing on a pending row under another generation or owner", func(s *suite) {
		_, f := s.pending(key("k"))
		s.wantFencedOut(otherFences(s, f)...)
	}},
	{"admit nothing on a row whose lease is over under another generation or owner", func(s *suite) {
		_, f := s.pending(key("k"))
		s.age(lease)
		s.wantFencedOut(otherFences(s, f)...)
	}},
	{"admit nothing on a completed row under another generation or owner", func(s *suite) {
		_, f := s.completed(key("k"))
		s.wantFencedOut(otherFences(s, f)...)
	}},
	{"admit nothing but the same completion on a completed row", func(s *suite) {
		c, f := s.completed(key("k"))
		before := s.read(c.ID)
		for _, w := range fencedWrites {
			held, err := w.write(s, f)
			if want := w.name == "Complete"; held != want || err != nil {
				s.Errorf("%s of a completed claim = %v, %v; want %v", w.name, held, err, want)
			}
			s.wantUnchanged(c.ID, before)
		}
	}},
	{"admit nothing of an owner that was taken over", func(s *suite) {
		c, f := s.pending(key("k"))
		s.endLease(f)
		next := s.claim(c.ID)
		nextFence := fence(next, s.takeOver(f, next).Generation)
		s.wantFencedOut(f)
		s.age(lease)
		s.wantFencedOut(f)
		s.complete(completion(nextFence, "answer"))
		s.wantFencedOut(f)
	}},
	{"admit nothing of an owner whose row was reused", func(s *suite) {
		c, f := s.completed(key("k"))
		s.age(far)
		s.reuse(f, s.claim(c.ID))
		s.wantFencedOut(f)
	}},
	{"admit nothing of an owner that released, in the same generation", func(s *suite) {
		c, f := s.pending(key("k"))
		s.release(f)
		s.wantFencedOut(f)
		_, anew := s.pending(c.ID)
		if anew.Generation != f.Generation {
			s.Fatalf("generation %d; want %d again, or the case shows nothing", anew.Generation, f.Generation)
		}
		s.wantFencedOut(f)
	}},
	{"admit nothing of an owner whose row was swept", func(s *suite) {
		c, f := s.pending(key("k"))
		s.age(far)
		s.sweep(10, 1)
		s.wantFencedOut(f)
		s.pending(c.ID)
		s.wantFencedOut(f)
	}},
}
