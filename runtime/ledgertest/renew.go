package ledgertest

import (
	"time"

	"github.com/idemgen/idemgen/runtime"
)

var renewCases = []testCase{
	{"extends the lease from now and changes nothing else", func(s *suite) {
		c, f := s.pending(key("k"))
		s.age(time.Hour)
		before := s.read(c.ID)
		terms := runtime.Terms{Lease: 4 * time.Hour, Retain: 6 * time.Hour, Gone: 8 * time.Hour}
		claimed := s.renew(f, terms)
		row := s.read(c.ID)
		s.wantLease(claimed, row, terms)
		if claimed.Now < before.Now {
			s.Errorf("renewed at %d; read before that at %d", claimed.Now, before.Now)
		}
		row.LeaseUntil, row.ExpiresAt, row.GoneAt = before.LeaseUntil, before.ExpiresAt, before.GoneAt
		if !same(row, before) {
			s.Errorf("the row is %+v, before that %+v", row, before)
		}
	}},
	{"may shorten the lease", func(s *suite) {
		c, f := s.pending(key("k"))
		terms := runtime.Terms{Lease: time.Hour, Retain: time.Hour, Gone: time.Hour}
		claimed := s.renew(f, terms)
		s.wantLease(claimed, s.read(c.ID), terms)
	}},
	{"holds after the lease while nobody took over", func(s *suite) {
		c, f := s.pending(key("k"))
		s.age(lease + time.Hour)
		claimed := s.renew(f, c.Terms)
		s.wantLease(claimed, s.read(c.ID), c.Terms)
		s.lostTakeOver(f, s.claim(c.ID))
	}},
	{"holds for an expired row that nobody has claimed", func(s *suite) {
		c, f := s.pending(key("k"))
		s.age(far)
		claimed := s.renew(f, c.Terms)
		s.wantLease(claimed, s.read(c.ID), c.Terms)
		s.sweep(10, 0)
	}},
	{"puts off a sweep", func(s *suite) {
		c, f := s.pending(key("k"))
		s.age(lease)
		s.renew(f, c.Terms)
		s.age(retain)
		before := s.read(c.ID)
		s.sweep(10, 0)
		s.wantUnchanged(c.ID, before)
		s.age(lease)
		s.sweep(10, 1)
	}},
	{"renews the claim that took over", func(s *suite) {
		c, f := s.pending(key("k"))
		s.endLease(f)
		next := s.claim(c.ID)
		taken := s.takeOver(f, next)
		renewed := s.renew(fence(next, taken.Generation), next.Terms)
		if renewed.Generation != taken.Generation || renewed.ClaimedAt != taken.ClaimedAt {
			s.Errorf("renewed %+v; taken over %+v", renewed, taken)
		}
	}},
}
