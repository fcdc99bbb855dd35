package ledgertest

import (
	"time"

	"github.com/idemgen/idemgen/runtime"
)

var reuseCases = []testCase{
	{"resets every column of a completed row past its gone_at", func(s *suite) {
		c, f := s.completed(key("k"))
		s.age(retain + gone)
		s.wantReset(c.ID, f)
	}},
	{"resets every column of a pending row past its gone_at", func(s *suite) {
		c, f := s.pending(key("k"))
		s.age(far)
		s.wantReset(c.ID, f)
	}},
	{"resets every column of a row whose answer was dropped", func(s *suite) {
		c, f := s.completed(key("k"))
		s.age(retain)
		s.sweep(10, 1)
		s.age(gone)
		s.wantReset(c.ID, f)
	}},
	{"resets every column of a row that is remembered for no time", func(s *suite) {
		c, f := s.pending(key("k"))
		done := completion(f, "answer")
		done.Terms = runtime.Terms{}
		s.complete(done)
		s.wantReset(c.ID, f)
	}},
	{"wins nothing of a row that is not expired", func(s *suite) {
		c, f := s.completed(key("completed"))
		s.losesReuse(c.ID, f)
		p, pf := s.pending(key("pending"))
		s.losesReuse(p.ID, pf)
		s.age(retain - time.Hour)
		s.losesReuse(c.ID, f)
		s.losesReuse(p.ID, pf)
	}},
	{"wins nothing of an expired row before its gone_at", func(s *suite) {
		c, f := s.completed(key("completed"))
		p, pf := s.pending(key("pending"))
		s.age(lease + retain)
		s.losesReuse(c.ID, f)
		s.losesReuse(p.ID, pf)
		s.age(gone - lease - time.Hour)
		s.losesReuse(c.ID, f)
		s.losesReuse(p.ID, pf)
	}},
	{"wins nothing of a row whose lease lives, though its retention is over", func(s *suite) {
		c := s.claim(key("k"))
		c.Terms = runtime.Terms{Lease: lease, Retain: -lease}
		f := fence(c, s.insert(c).Generation)
		if row := s.read(c.ID); row.GoneAt > row.Now {
			s.Fatalf("the row is %+v; want it past its gone_at, or the case shows nothing", row)
		}
		s.losesReuse(c.ID, f)
		s.age(lease)
		s.reuse(f, s.claim(c.ID))
	}},
	{"wins nothing of a row that is not expired, though its gone_at is past", func(s *suite) {
		c, f := s.pending(key("k"))
		done := completion(f, "answer")
		done.Gone = -done.Retain
		s.complete(done)
		if row := s.read(c.ID); row.GoneAt > row.Now {
			s.Fatalf("the row is %+v; want it past its gone_at, or the case shows nothing", row)
		}
		s.losesReuse(c.ID, f)
	}},
	{"wins a completed row whose lease lives", func(s *suite) {
		c, f := s.pending(key("k"))
		done := completion(f, "answer")
		done.Terms = runtime.Terms{}
		s.complete(done)
		if row := s.read(c.ID); row.LeaseUntil <= row.Now {
			s.Fatalf("the row is %+v; want its lease alive, or the case shows nothing", row)
		}
		s.reuse(f, s.claim(c.ID))
	}},
	{"wins nothing of a key without a row", func(s *suite) {
		id := key("k")
		s.lostReuse(runtime.Fence{ID: id, Generation: 1, Owner: s.owner()}, s.claim(id))
		s.wantAbsent(id)
	}},
	{"wins nothing under another generation or owner", func(s *suite) {
		c, f := s.completed(key("k"))
		s.age(far)
		s.losesReuse(c.ID, runtime.Fence{ID: c.ID, Generation: 2, Owner: f.Owner})
		s.losesReuse(c.ID, runtime.Fence{ID: c.ID, Generation: 0, Owner: f.Owner})
		s.losesReuse(c.ID, runtime.Fence{ID: c.ID, Generation: 1, Owner: s.owner()})
	}},
	{"wins nothing after another reuse", func(s *suite) {
		c, f := s.completed(key("k"))
		s.age(far)
		s.reuse(f, s.claim(c.ID))
		s.losesReuse(c.ID, f)
		s.age(far)
		s.losesReuse(c.ID, f)
	}},
	{"wins nothing when the row was swept and claimed anew meanwhile", func(s *suite) {
		c, f := s.completed(key("k"))
		s.age(far)
		s.sweep(10, 1)
		_, anew := s.completed(c.ID)
		s.age(far)
		if anew.Generation != f.Generation {
			s.Fatalf("generation %d; want %d again, or the case shows nothing", anew.Generation, f.Generation)
		}
		s.losesReuse(c.ID, f)
	}},
	{"sent again by its owner reports the claim that stands", func(s *suite) {
		c, f := s.completed(key("k"))
		s.age(far)
		next := s.claim(c.ID)
		first := s.reuse(f, next)
		before := s.read(c.ID)
		again := s.reuse(f, next)
		s.wantUnchanged(c.ID, before)
		if again.Generation != 2 || again.ClaimedAt != first.ClaimedAt || again.LeaseUntil != first.LeaseUntil {
			s.Errorf("sent again: %+v; first %+v", again, first)
		}
	}},
	{"lets claimed_at grow although the clock was set back", func(s *suite) {
		c := s.claim(key("k"))
		c.Terms = runtime.Terms{Lease: time.Hour}
		f := fence(c, s.insert(c).Generation)
		done := completion(f, "answer")
		done.Terms = runtime.Terms{}
		s.age(-time.Hour)
		s.complete(done)
		before := s.read(c.ID)
		claimed := s.reuse(f, s.claim(c.ID))
		if claimed.ClaimedAt != before.ClaimedAt+1 || claimed.ClaimedAt <= claimed.Now {
			s.Errorf("claimed %+v; want one above %d", claimed, before.ClaimedAt)
		}
	}},
}

func (s *suite) wantReset(id runtime.ID, f runtime.Fence) {
	s.Helper()
	before := s.read(id)
	next := s.claim(id)
	next.Terms = runtime.Terms{Lease: 3 * time.Hour, Retain: 5 * time.Hour, Gone: 7 * time.Hour}
	claimed := s.reuse(f, next)
	row := s.read(id)
	s.wantLease(claimed, row, next.Terms)
	s.wantOf(row, next)
	s.wantNoAnswer(row)
	if row.Generation != before.Generation+1 || row.Owner != next.Owner || row.Completed {
		s.Errorf("the row is %+v; want generation %d, pending, of the new owner", row, before.Generation+1)
	}
	if row.ClaimedAt <= before.ClaimedAt {
		s.Errorf("claimed at %d, before that at %d", row.ClaimedAt, before.ClaimedAt)
	}
	s.complete(completion(fence(next, row.Generation), "answer of the new claim"))
	s.wantAnswer(s.read(id), completion(f, "answer of the new claim").Answer)
}

func (s *suite) losesReuse(id runtime.ID, at runtime.Fence) {
	s.Helper()
	before := s.read(id)
	s.lostReuse(at, s.claim(id))
	s.wantUnchanged(id, before)
}
