package ledgertest

import (
	"bytes"
	"fmt"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

var completeCases = []testCase{
	{"stores the answer and keeps the rest of the row", func(s *suite) {
		c, f := s.pending(key("k"))
		before := s.read(c.ID)
		done := completion(f, "answer")
		s.complete(done)
		row := s.read(c.ID)
		s.wantAnswer(row, done.Answer)
		row.Completed, row.Answer = false, before.Answer
		row.ExpiresAt, row.GoneAt = before.ExpiresAt, before.GoneAt
		if !same(row, before) {
			s.Errorf("the row is %+v, before that %+v", row, before)
		}
	}},
	{"counts retention from the completion, whatever the lease", func(s *suite) {
		c, f := s.pending(key("k"))
		s.age(time.Hour)
		before := s.read(c.ID)
		done := completion(f, "answer")
		done.Terms = runtime.Terms{Lease: 1000 * time.Hour, Retain: 5*time.Hour + 1999*time.Microsecond, Gone: 7 * time.Millisecond}
		s.complete(done)
		row := s.read(c.ID)
		if from := row.ExpiresAt - ms(done.Retain); from < before.Now || from > row.Now {
			s.Errorf("retention counts from %d; completed between %d and %d", from, before.Now, row.Now)
		}
		if row.GoneAt-row.ExpiresAt != 7 {
			s.Errorf("the row is gone %d ms after its expiry; want 7", row.GoneAt-row.ExpiresAt)
		}
		if row.LeaseUntil != before.LeaseUntil {
			s.Errorf("the lease ends at %d; before the completion at %d", row.LeaseUntil, before.LeaseUntil)
		}
	}},
	{"stands after the lease when nobody took over", func(s *suite) {
		c, f := s.pending(key("k"))
		s.age(lease + time.Hour)
		done := completion(f, "answer")
		s.complete(done)
		s.wantAnswer(s.read(c.ID), done.Answer)
	}},
	{"stands after the row's expiry when nobody claimed it", func(s *suite) {
		c, f := s.pending(key("k"))
		s.age(far)
		done := completion(f, "answer")
		s.complete(done)
		row := s.read(c.ID)
		s.wantAnswer(row, done.Answer)
		if row.Expired() {
			s.Errorf("the row is %+v; want it retained from now on", row)
		}
		s.sweep(10, 0)
		s.wantUnchanged(c.ID, row)
	}},
	{"repeated by its owner reports true and changes nothing", func(s *suite) {
		c, f := s.pending(key("k"))
		s.complete(completion(f, "answer"))
		s.age(time.Hour)
		before := s.read(c.ID)
		s.complete(completion(f, "answer"))
		s.wantUnchanged(c.ID, before)
		again := completion(f, "another answer")
		again.Terms = runtime.Terms{Retain: 1000 * time.Hour, Gone: time.Hour}
		s.complete(again)
		s.wantUnchanged(c.ID, before)
	}},
	{"repeated by the owner of an expired row reports true", func(s *suite) {
		c, f := s.completed(key("k"))
		s.age(retain)
		s.sweep(10, 1)
		before := s.read(c.ID)
		s.complete(completion(f, "answer"))
		s.wantUnchanged(c.ID, before)
	}},
	{"loses on a row that another claim completed", func(s *suite) {
		c, f := s.completed(key("k"))
		before := s.read(c.ID)
		for _, other := range otherFences(s, f) {
			s.losesComplete(completion(other, "another answer"))
		}
		s.wantUnchanged(c.ID, before)
	}},
	{"loses once the row is gone", func(s *suite) {
		c, f := s.completed(key("k"))
		s.age(far)
		s.sweep(10, 1)
		s.losesComplete(completion(f, "answer"))
		s.wantAbsent(c.ID)
	}},
	{"keeps the new owner's answer after a takeover", func(s *suite) {
		c, f := s.pending(key("k"))
		s.endLease(f)
		next := s.claim(c.ID)
		done := completion(fence(next, s.takeOver(f, next).Generation), "answer of the new owner")
		s.complete(done)
		s.losesComplete(completion(f, "answer of the old owner"))
		s.wantAnswer(s.read(c.ID), done.Answer)
	}},
	{"takes the caller's bytes as they are when it is called", func(s *suite) {
		c, f := s.pending(key("k"))
		done := completion(f, "answer")
		s.complete(done)
		clear(done.Answer.Headers)
		clear(done.Answer.Body)
		s.wantAnswer(s.read(c.ID), completion(f, "answer").Answer)
	}},
}

func (s *suite) losesComplete(c runtime.Completion) {
	s.Helper()
	if stands, err := s.ledger.Complete(ctx(), c); err != nil || stands {
		s.Fatalf("Complete(%v) = %v, %v; want it fenced out", c.ID, stands, err)
	}
}

// otherFences are fences on the same key that do not hold.
func otherFences(s *suite, f runtime.Fence) []runtime.Fence {
	almost := f.Owner
	almost[len(almost)-1] ^= 1
	return []runtime.Fence{
		{ID: f.ID, Generation: f.Generation - 1, Owner: f.Owner},
		{ID: f.ID, Generation: f.Generation + 1, Owner: f.Owner},
		{ID: f.ID, Generation: f.Generation, Owner: s.owner()},
		{ID: f.ID, Generation: f.Generation, Owner: almost},
		{ID: f.ID, Generation: f.Generation},
		{ID: f.ID},
	}
}

var answerCases = []testCase{
	{"keep every byte", func(s *suite) {
		every := make([]byte, 256)
		for i := range every {
			every[i] = byte(i)
		}
		mebibyte := bytes.Repeat([]byte("0123456789abcde\x00"), 1<<16)
		for i, a := range []runtime.StoredAnswer{
			{Status: 204, Headers: []byte{}, Body: []byte{}},
			{Status: 200, Headers: []byte{}, Body: []byte("body")},
			{Status: 200, Headers: []byte("headers"), Body: []byte{}},
			{Status: 200, Headers: []byte{0}, Body: []byte{0}},
			{Status: 599, Headers: every, Body: every},
			{Status: 201, Headers: []byte("\xff\xfe'\"`;--\r\n"), Body: []byte("\x00\x00\xff%s?1$1:a@b")},
			{Status: 200, Headers: bytes.Repeat([]byte("h"), 1<<14), Body: mebibyte},
			{Status: -1, Headers: []byte("h"), Body: []byte("b")},
		} {
			c, f := s.pending(key(fmt.Sprint("answer ", i)))
			s.complete(runtime.Completion{Fence: f, Terms: c.Terms, Answer: a})
			s.wantAnswer(s.read(c.ID), a)
		}
	}},
	{"are seen as stored by a claim's other columns too", func(s *suite) {
		// Text columns hold what the engine wrote, which is not always tame.
		c := s.claim(key("k"))
		c.Operation = "POST /ü/{}/日本 '\";--"
		c.Policy = "1 raw content-type x-a'b\n\t"
		for i := range c.Fingerprint {
			c.Fingerprint[i] = byte(255 - i)
		}
		c.Owner = runtime.Owner{0, 255, 0, 1, '\'', '"'}
		s.insert(c)
		row := s.read(c.ID)
		s.wantOf(row, c)
		if row.Owner != c.Owner {
			s.Errorf("owner %x; want %x", row.Owner, c.Owner)
		}
		f := fence(c, 1)
		s.complete(completion(f, "answer"))
	}},
	{"may be owned by a token of zeroes", func(s *suite) {
		c := s.claim(key("k"))
		c.Owner, c.Fingerprint = runtime.Owner{}, [32]byte{}
		s.insert(c)
		s.wantOf(s.read(c.ID), c)
		s.complete(completion(fence(c, 1), "answer"))
	}},
}
