package ledgertest

import (
	"fmt"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

var sweepCases = []testCase{
	{"finds nothing in an empty ledger", func(s *suite) {
		s.sweep(10, 0)
	}},
	{"changes no live row", func(s *suite) {
		fresh, _ := s.pending(key("pending"))
		done, _ := s.completed(key("completed"))
		s.age(lease + time.Hour)
		s.wantUnswept(fresh.ID, done.ID)
		s.age(retain - lease - 2*time.Hour)
		s.wantUnswept(fresh.ID, done.ID)
	}},
	{"drops the answer of a completed row before its gone_at", func(s *suite) {
		c, _ := s.completed(key("k"))
		s.age(retain)
		s.wantDropped(c.ID)
	}},
	{"keeps a pending row before its gone_at", func(s *suite) {
		c, _ := s.pending(key("k"))
		s.age(lease + retain)
		s.wantDropped(c.ID)
	}},
	{"deletes a row whose answer was dropped, past its gone_at", func(s *suite) {
		c, _ := s.completed(key("completed"))
		p, _ := s.pending(key("pending"))
		s.age(lease + retain)
		s.sweep(10, 2)
		s.age(gone - lease - time.Hour)
		s.wantUnswept(c.ID, p.ID)
		s.age(lease + time.Hour)
		s.sweep(10, 2)
		s.wantAbsent(c.ID)
		s.wantAbsent(p.ID)
	}},
	{"deletes a row past its gone_at at once", func(s *suite) {
		c, _ := s.completed(key("completed"))
		p, _ := s.pending(key("pending"))
		s.age(far)
		s.sweep(10, 2)
		s.wantAbsent(c.ID)
		s.wantAbsent(p.ID)
	}},
	{"deletes a row that is remembered for no time", func(s *suite) {
		c, f := s.pending(key("k"))
		done := completion(f, "answer")
		done.Gone = 0
		s.complete(done)
		s.age(retain)
		s.sweep(10, 1)
		s.wantAbsent(c.ID)
	}},
	{"changes no row whose lease lives, though its retention is over", func(s *suite) {
		c := s.claim(key("k"))
		c.Terms = runtime.Terms{Lease: lease, Retain: -lease}
		s.insert(c)
		d := s.claim(key("l"))
		d.Terms = runtime.Terms{Lease: lease, Retain: -lease, Gone: gone}
		s.insert(d)
		s.wantUnswept(c.ID, d.ID)
		s.age(lease)
		s.sweep(10, 2)
		s.wantAbsent(c.ID)
	}},
	{"changes at most limit rows, and at last all that are due", func(s *suite) {
		for i := range 10 {
			s.completed(key(fmt.Sprint("k", i)))
		}
		live, _ := s.pending(key("live"))
		s.age(retain)
		s.renew(fence(live, 1), live.Terms)
		for _, want := range []int{3, 3, 3, 1, 0} {
			s.sweep(3, want)
		}
		s.age(gone)
		s.renew(fence(live, 1), live.Terms)
		before := s.read(live.ID)
		for _, want := range []int{4, 4, 2, 0} {
			s.sweep(4, want)
		}
		s.wantUnchanged(live.ID, before)
	}},
	{"bounds drops and deletions together", func(s *suite) {
		for i := range 5 {
			_, f := s.pending(key(fmt.Sprint("deleted", i)))
			done := completion(f, "answer")
			done.Gone = 0
			s.complete(done)
			s.completed(key(fmt.Sprint("dropped", i)))
		}
		s.age(retain)
		total := 0
		for range 10 {
			n, err := s.ledger.Sweep(ctx(), 3)
			if err != nil || n > 3 {
				s.Fatalf("Sweep(3) = %d, %v", n, err)
			}
			total += n
		}
		if total != 10 {
			s.Errorf("the sweeps changed %d rows; want 10", total)
		}
		for i := range 5 {
			s.wantAbsent(key(fmt.Sprint("deleted", i)))
			s.wantNoAnswer(s.read(key(fmt.Sprint("dropped", i))))
		}
	}},
	{"is not held up by rows that were due once and live on", func(s *suite) {
		// Each row would have been due before the last one.
		taken, takenFence := s.pending(key("taken over"))
		_, renewed := s.pending(key("renewed"))
		_, late := s.pending(key("completed late"))
		reused, reusedFence := s.pending(key("reused"))
		done := completion(reusedFence, "answer")
		done.Terms = runtime.Terms{}
		s.complete(done)
		s.age(lease)
		s.takeOver(takenFence, s.claim(taken.ID))
		s.renew(renewed, taken.Terms)
		lately := completion(late, "answer")
		lately.Retain += time.Hour
		s.complete(lately)
		s.reuse(reusedFence, s.claim(reused.ID))
		due := s.claim(key("due"))
		due.Terms = runtime.Terms{Lease: retain}
		s.insert(due)
		s.age(retain)
		s.sweep(1, 1)
		s.wantAbsent(due.ID)
	}},
	{"changes nothing under a limit of nothing", func(s *suite) {
		c, _ := s.completed(key("k"))
		s.age(far)
		before := s.read(c.ID)
		s.sweep(0, 0)
		s.sweep(-1, 0)
		s.wantUnchanged(c.ID, before)
	}},
	{"changes no row that was claimed again meanwhile", func(s *suite) {
		c, f := s.completed(key("k"))
		s.age(far)
		next := s.claim(c.ID)
		s.reuse(f, next)
		s.wantUnswept(c.ID)
		s.age(lease + retain)
		s.wantDropped(c.ID)
	}},
	{"changes no row that was taken over meanwhile", func(s *suite) {
		c, f := s.pending(key("k"))
		s.age(lease + retain - time.Hour)
		s.takeOver(f, s.claim(c.ID))
		s.age(time.Hour)
		s.wantUnswept(c.ID)
	}},
	{"changes no row that was completed after it was dropped", func(s *suite) {
		c, f := s.pending(key("k"))
		s.age(lease + retain)
		s.sweep(10, 1)
		done := completion(f, "answer")
		s.complete(done)
		s.age(gone)
		s.wantUnswept(c.ID)
		s.wantAnswer(s.read(c.ID), done.Answer)
		s.age(retain - gone)
		s.wantDropped(c.ID)
	}},
	{"counts anew for a row that was reused after it was dropped", func(s *suite) {
		c, f := s.completed(key("k"))
		s.age(retain)
		s.sweep(10, 1)
		s.age(gone)
		next := s.claim(c.ID)
		done := completion(fence(next, s.reuse(f, next).Generation), "answer of the new claim")
		s.complete(done)
		s.age(retain - time.Hour)
		s.wantUnswept(c.ID)
		s.wantAnswer(s.read(c.ID), done.Answer)
		s.age(time.Hour)
		s.wantDropped(c.ID)
		s.age(gone)
		s.sweep(10, 1)
		s.wantAbsent(c.ID)
	}},
}

// wantUnswept says that a sweep of the whole ledger changes nothing of it.
func (s *suite) wantUnswept(ids ...runtime.ID) {
	s.Helper()
	var before []runtime.Row
	for _, id := range ids {
		before = append(before, s.read(id))
	}
	s.sweep(100, 0)
	for i, id := range ids {
		s.wantUnchanged(id, before[i])
	}
}

// wantDropped sweeps the one row that is due and says that it lost its answer
// and nothing else, for once.
func (s *suite) wantDropped(id runtime.ID) {
	s.Helper()
	before := s.read(id)
	s.sweep(100, 1)
	before.Answer = runtime.StoredAnswer{}
	s.wantUnchanged(id, before)
	s.sweep(100, 0)
	s.wantUnchanged(id, before)
}
