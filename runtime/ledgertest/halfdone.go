package ledgertest

import (
	"fmt"

	"github.com/idemgen/idemgen/runtime"
)

// halfDoneCases are about rows that have a recovery point: their first phases
// stand, so they are neither deleted nor started over, however old they are. A
// ledger without recovery points passes them by.
var halfDoneCases = []testCase{
	{"Sweep leaves a half-done row alone", func(s *suite) {
		c := s.halfDone(key("k"))
		before := s.read(c.ID)
		s.sweep(10, 0)
		s.wantUnchanged(c.ID, before)
	}},
	{"Sweep leaves a half-done row alone before its gone_at", func(s *suite) {
		c, _ := s.pending(key("k"))
		s.advance(c.ID, "reserved")
		s.age(lease + retain)
		before := s.read(c.ID)
		s.sweep(10, 0)
		s.wantUnchanged(c.ID, before)
	}},
	{"Half-done rows do not stand in the way of a sweep", func(s *suite) {
		for i := range 5 {
			c, _ := s.pending(key(fmt.Sprint("half", i)))
			s.advance(c.ID, "reserved")
		}
		s.age(lease)
		done, _ := s.completed(key("completed"))
		left, _ := s.pending(key("left"))
		s.age(far)
		s.sweep(2, 2)
		s.sweep(2, 0)
		s.wantAbsent(done.ID)
		s.wantAbsent(left.ID)
		for i := range 5 {
			s.read(key(fmt.Sprint("half", i)))
		}
	}},
	{"Reuse does not start a half-done row over", func(s *suite) {
		c := s.halfDone(key("k"))
		before := s.read(c.ID)
		s.lostReuse(seen(c.ID, before), s.claim(c.ID))
		s.wantUnchanged(c.ID, before)
	}},
	{"TakeOver does not start a half-done row over", func(s *suite) {
		c, _ := s.pending(key("k"))
		s.advance(c.ID, "reserved")
		s.age(lease)
		before := s.read(c.ID)
		s.lostTakeOver(seen(c.ID, before), s.claim(c.ID))
		s.wantUnchanged(c.ID, before)
	}},
	{"Release does not delete a half-done row", func(s *suite) {
		c, f := s.pending(key("k"))
		s.advance(c.ID, "reserved")
		before := s.read(c.ID)
		if held, err := s.ledger.Release(ctx(), f); err != nil || held {
			s.Fatalf("Release = %v, %v; want it refused", held, err)
		}
		s.wantUnchanged(c.ID, before)
	}},
	{"Erase does not delete a half-done row", func(s *suite) {
		l := s.operator()
		c := s.halfDone(key("k"))
		done, _ := s.completed(key("completed"))
		before := s.read(c.ID)
		s.wantErased(l, 10, 1)
		s.wantUnchanged(c.ID, before)
		s.wantAbsent(done.ID)
	}},
	{"Erase passes half-done rows by", func(s *suite) {
		l := s.operator()
		for i := range 3 {
			s.halfDone(key(fmt.Sprint("half", i)))
		}
		s.completed(key("z"))
		s.wantErased(l, 2, 1)
		s.wantErased(l, 2, 0)
	}},
	{"Complete, EndLease and Renew go by the fence, and what is complete is done", func(s *suite) {
		c, f := s.pending(key("k"))
		s.advance(c.ID, "reserved")
		s.renew(f, c.Terms)
		s.endLease(f)
		done := completion(f, "answer")
		s.complete(done)
		s.wantAnswer(s.read(c.ID), done.Answer)
		s.age(far)
		s.sweep(10, 1)
		s.wantAbsent(c.ID)
	}},
}

// halfDone claims an absent key, gives it a recovery point, and lets it grow
// older than anything is kept.
func (s *suite) halfDone(id runtime.ID) runtime.Claim {
	s.Helper()
	c, _ := s.pending(id)
	s.advance(c.ID, "reserved")
	s.age(far)
	return c
}

// advance gives a row a recovery point.
func (s *suite) advance(id runtime.ID, point string) {
	s.Helper()
	if s.point == nil {
		s.Skip("the ledger has no recovery points")
	}
	s.point(id, point)
}
