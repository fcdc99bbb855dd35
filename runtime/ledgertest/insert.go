package ledgertest

import (
	"time"

	"github.com/idemgen/idemgen/runtime"
)

var insertCases = []testCase{
	{"claims a key that no row holds", func(s *suite) {
		c := s.claim(key("k"))
		claimed := s.insert(c)
		row := s.read(c.ID)
		s.wantLease(claimed, row, c.Terms)
		s.wantOf(row, c)
		s.wantNoAnswer(row)
		if claimed.Generation != 1 || claimed.ClaimedAt != claimed.Now {
			s.Errorf("claimed %+v; want generation 1, claimed now", claimed)
		}
		if row.Owner != c.Owner || row.Completed || row.Expired() {
			s.Errorf("the row is %+v; want it pending, of this owner", row)
		}
	}},
	{"loses to a pending row", func(s *suite) {
		c, _ := s.pending(key("k"))
		s.losesInsert(c.ID)
	}},
	{"loses to a pending row whose lease is over", func(s *suite) {
		c, _ := s.pending(key("k"))
		s.age(lease)
		s.losesInsert(c.ID)
	}},
	{"loses to a pending row that is expired", func(s *suite) {
		c, _ := s.pending(key("k"))
		s.age(lease + retain)
		s.losesInsert(c.ID)
	}},
	{"loses to a completed row", func(s *suite) {
		c, _ := s.completed(key("k"))
		s.losesInsert(c.ID)
	}},
	{"loses to a completed row that is expired", func(s *suite) {
		c, _ := s.completed(key("k"))
		s.age(retain)
		s.losesInsert(c.ID)
	}},
	{"loses to a row past its gone_at", func(s *suite) {
		c, _ := s.completed(key("k"))
		s.age(far)
		s.losesInsert(c.ID)
	}},
	{"sent again by its owner reports the claim that stands", func(s *suite) {
		c := s.claim(key("k"))
		first := s.insert(c)
		again := s.insertAgain(c)
		row := s.read(c.ID)
		s.wantOf(row, c)
		if again.Generation != 1 || again.ClaimedAt != first.ClaimedAt || again.LeaseUntil != row.LeaseUntil || row.Owner != c.Owner {
			s.Errorf("sent again: %+v, first %+v, row %+v", again, first, row)
		}
		if left := again.LeaseUntil - again.Now; left <= 0 || left > ms(lease) {
			s.Errorf("sent again, %d ms of the lease are left; want at most %d", left, ms(lease))
		}
	}},
	{"sent again after the lease reports what is left of it", func(s *suite) {
		c := s.claim(key("k"))
		s.insert(c)
		s.age(lease + time.Hour)
		again := s.insertAgain(c)
		row := s.read(c.ID)
		if row.LeaseUntil != again.LeaseUntil || row.Generation != 1 || row.Owner != c.Owner || row.Now < again.Now {
			s.Errorf("sent again: %+v, row %+v", again, row)
		}
		if row.ExpiresAt-row.LeaseUntil != ms(retain) || row.GoneAt-row.ExpiresAt != ms(gone) {
			s.Errorf("the row is %+v; want its expiry to follow its lease", row)
		}
	}},
	{"sent again by an owner that has completed is lost", func(s *suite) {
		c, _ := s.completed(key("k"))
		before := s.read(c.ID)
		s.lostInsert(c)
		s.wantUnchanged(c.ID, before)
	}},
	{"sent again by an owner that was taken over is lost", func(s *suite) {
		c, f := s.pending(key("k"))
		s.endLease(f)
		s.takeOver(f, s.claim(c.ID))
		before := s.read(c.ID)
		s.lostInsert(c)
		s.wantUnchanged(c.ID, before)
	}},
	{"counts generations from 1 again after a release", func(s *suite) {
		c, f := s.pending(key("k"))
		s.endLease(f)
		next := s.claim(c.ID)
		s.release(fence(next, s.takeOver(f, next).Generation))
		if claimed := s.insert(s.claim(c.ID)); claimed.Generation != 1 {
			s.Errorf("generation %d after a release; want 1", claimed.Generation)
		}
	}},
	{"counts generations from 1 again after a sweep", func(s *suite) {
		c, _ := s.completed(key("k"))
		s.age(far)
		s.sweep(10, 1)
		if claimed := s.insert(s.claim(c.ID)); claimed.Generation != 1 {
			s.Errorf("generation %d after a sweep; want 1", claimed.Generation)
		}
	}},
	{"takes durations in whole milliseconds", func(s *suite) {
		c := s.claim(key("k"))
		c.Terms = runtime.Terms{
			Lease:  time.Hour + 1999*time.Microsecond,
			Retain: time.Hour + 2*time.Millisecond + 999_999*time.Nanosecond,
			Gone:   3 * time.Millisecond,
		}
		claimed := s.insert(c)
		s.wantLease(claimed, s.read(c.ID), c.Terms)
	}},
	{"takes retention and remembrance of nothing", func(s *suite) {
		c := s.claim(key("k"))
		c.Terms = runtime.Terms{Lease: lease}
		claimed := s.insert(c)
		s.wantLease(claimed, s.read(c.ID), c.Terms)
	}},
	{"takes terms of years", func(s *suite) {
		c := s.claim(key("k"))
		const year = 365 * 24 * time.Hour
		c.Terms = runtime.Terms{Lease: year, Retain: 100 * year, Gone: 100 * year}
		claimed := s.insert(c)
		s.wantLease(claimed, s.read(c.ID), c.Terms)
	}},
}

func (s *suite) losesInsert(id runtime.ID) {
	s.Helper()
	before := s.read(id)
	s.lostInsert(s.claim(id))
	s.wantUnchanged(id, before)
}

var readCases = []testCase{
	{"finds no row of an absent key", func(s *suite) {
		s.wantAbsent(key("k"))
		s.wantAbsent(key("k"))
	}},
	{"changes nothing", func(s *suite) {
		c, f := s.pending(key("k"))
		before := s.read(c.ID)
		s.wantUnchanged(c.ID, before)
		s.complete(completion(f, "answer"))
		before = s.read(c.ID)
		s.wantUnchanged(c.ID, before)
		s.age(far)
		before = s.read(c.ID)
		s.wantUnchanged(c.ID, before)
	}},
	{"tells the time by the ledger's clock", func(s *suite) {
		c := s.claim(key("k"))
		claimed := s.insert(c)
		row := s.read(c.ID)
		if row.Now < claimed.Now || row.LeaseUntil-row.Now > ms(lease) {
			s.Errorf("read at %d; claimed at %d", row.Now, claimed.Now)
		}
		s.age(lease - time.Hour)
		if row := s.read(c.ID); row.LeaseUntil <= row.Now || row.LeaseUntil-row.Now > ms(time.Hour) {
			s.Errorf("%d ms of the lease are left; want up to an hour", row.LeaseUntil-row.Now)
		}
		s.age(time.Hour)
		if row := s.read(c.ID); row.LeaseUntil > row.Now || row.Expired() {
			s.Errorf("the row is %+v; want its lease over, and the row not expired", row)
		}
		s.age(retain)
		if row := s.read(c.ID); !row.Expired() || row.GoneAt <= row.Now {
			s.Errorf("the row is %+v; want it expired, and not gone", row)
		}
		s.age(gone)
		if row := s.read(c.ID); row.GoneAt > row.Now {
			s.Errorf("the row is %+v; want it gone", row)
		}
	}},
	{"shows a row whose lease outlives its retention as not expired", func(s *suite) {
		c := s.claim(key("k"))
		c.Retain = -lease
		s.insert(c)
		if row := s.read(c.ID); row.ExpiresAt > row.Now || row.Expired() {
			s.Errorf("the row is %+v; want its retention over, and the row not expired", row)
		}
		s.age(lease)
		if row := s.read(c.ID); !row.Expired() {
			s.Errorf("the row is %+v; want it expired", row)
		}
	}},
	{"hands out bytes of the caller's own", func(s *suite) {
		c, _ := s.completed(key("k"))
		before := s.read(c.ID)
		read := s.read(c.ID)
		clear(read.Answer.Headers)
		clear(read.Answer.Body)
		s.wantUnchanged(c.ID, before)
	}},
}
