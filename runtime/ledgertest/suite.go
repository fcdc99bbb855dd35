package ledgertest

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// suite is one case's view of its ledger: every method fails the case when the
// ledger errs, so that a case reads as what it is about.
type suite struct {
	*testing.T
	ledger runtime.Ledger
	age    func(time.Duration)
	point  func(runtime.ID, string)
	owners int
}

// The terms of most claims. They are so long that the time that a test takes
// decides nothing.
const (
	lease  = 2 * time.Hour
	retain = 48 * time.Hour
	gone   = 24 * time.Hour
)

// far is later than every time of a row under the terms above.
const far = lease + retain + gone

// ctx is the context of statements that nobody cancels.
func ctx() context.Context { return context.Background() }

func key(k string) runtime.ID { return runtime.ID{Principal: "alice", Key: k} }

func ms(d time.Duration) int64 { return d.Milliseconds() }

// owner is a token that no other claim of the case has.
func (s *suite) owner() (o runtime.Owner) {
	s.owners++
	copy(o[:], fmt.Sprintf("owner %010d", s.owners))
	return o
}

// claim is a new claim by a new owner. Its operation, policy and fingerprint
// are the owner's own, so that it can be told whose the row has.
func (s *suite) claim(id runtime.ID) runtime.Claim {
	c := runtime.Claim{ID: id, Terms: runtime.Terms{Lease: lease, Retain: retain, Gone: gone}, Owner: s.owner()}
	c.Operation = fmt.Sprintf("POST /operation/%d", s.owners)
	c.Policy = fmt.Sprintf("1 raw policy-%d", s.owners)
	copy(c.Fingerprint[:], fmt.Sprintf("fingerprint %020d", s.owners))
	return c
}

func fence(c runtime.Claim, generation int64) runtime.Fence {
	return runtime.Fence{ID: c.ID, Generation: generation, Owner: c.Owner}
}

func seen(id runtime.ID, row runtime.Row) runtime.Fence {
	return runtime.Fence{ID: id, Generation: row.Generation, Owner: row.Owner}
}

func completion(f runtime.Fence, body string) runtime.Completion {
	return runtime.Completion{
		Fence: f, Terms: runtime.Terms{Retain: retain, Gone: gone},
		Answer: runtime.StoredAnswer{Status: 201, Headers: []byte("headers of " + body), Body: []byte(body)},
	}
}

// insert claims an absent key and must win it.
func (s *suite) insert(c runtime.Claim) runtime.Claimed {
	s.Helper()
	claimed, won, err := s.ledger.Insert(ctx(), c)
	if err != nil || !won {
		s.Fatalf("Insert(%v) = %v, %v; want it won", c.ID, won, err)
	}
	return claimed
}

// insertAgain makes a claim once more, whose row stands.
func (s *suite) insertAgain(c runtime.Claim) runtime.Claimed {
	s.Helper()
	c.Again = true
	return s.insert(c)
}

// pending claims an absent key under the usual terms.
func (s *suite) pending(id runtime.ID) (runtime.Claim, runtime.Fence) {
	s.Helper()
	c := s.claim(id)
	return c, fence(c, s.insert(c).Generation)
}

// completed claims an absent key and completes it.
func (s *suite) completed(id runtime.ID) (runtime.Claim, runtime.Fence) {
	s.Helper()
	c, f := s.pending(id)
	s.complete(completion(f, "answer"))
	return c, f
}

func (s *suite) takeOver(at runtime.Fence, c runtime.Claim) runtime.Claimed {
	s.Helper()
	claimed, won, err := s.ledger.TakeOver(ctx(), at, c)
	if err != nil || !won {
		s.Fatalf("TakeOver(%v) = %v, %v; want it won", c.ID, won, err)
	}
	return claimed
}

func (s *suite) reuse(at runtime.Fence, c runtime.Claim) runtime.Claimed {
	s.Helper()
	claimed, won, err := s.ledger.Reuse(ctx(), at, c)
	if err != nil || !won {
		s.Fatalf("Reuse(%v) = %v, %v; want it won", c.ID, won, err)
	}
	return claimed
}

func (s *suite) renew(f runtime.Fence, terms runtime.Terms) runtime.Claimed {
	s.Helper()
	claimed, held, err := s.ledger.Renew(ctx(), f, terms)
	if err != nil || !held {
		s.Fatalf("Renew(%v) = %v, %v; want it held", f.ID, held, err)
	}
	return claimed
}

func (s *suite) complete(c runtime.Completion) {
	s.Helper()
	if stands, err := s.ledger.Complete(ctx(), c); err != nil || !stands {
		s.Fatalf("Complete(%v) = %v, %v; want it to stand", c.ID, stands, err)
	}
}

func (s *suite) release(f runtime.Fence) {
	s.Helper()
	if held, err := s.ledger.Release(ctx(), f); err != nil || !held {
		s.Fatalf("Release(%v) = %v, %v; want it held", f.ID, held, err)
	}
}

func (s *suite) endLease(f runtime.Fence) {
	s.Helper()
	if held, err := s.ledger.EndLease(ctx(), f); err != nil || !held {
		s.Fatalf("EndLease(%v) = %v, %v; want it held", f.ID, held, err)
	}
}

func (s *suite) sweep(limit, want int) {
	s.Helper()
	if n, err := s.ledger.Sweep(ctx(), limit); err != nil || n != want {
		s.Fatalf("Sweep(%d) = %d, %v; want %d rows changed", limit, n, err, want)
	}
}

// read returns the row of a key, which must exist.
func (s *suite) read(id runtime.ID) runtime.Row {
	s.Helper()
	row, found, err := s.ledger.Read(ctx(), id)
	if err != nil || !found {
		s.Fatalf("Read(%v) = %v, %v; want a row", id, found, err)
	}
	return row
}

func (s *suite) wantAbsent(id runtime.ID) {
	s.Helper()
	if row, found, err := s.ledger.Read(ctx(), id); err != nil || found {
		s.Fatalf("Read(%v) = %+v, %v, %v; want no row", id, row, found, err)
	}
}

// wantUnchanged says that nothing was written since a row was read.
func (s *suite) wantUnchanged(id runtime.ID, before runtime.Row) {
	s.Helper()
	if after := s.read(id); !same(before, after) {
		s.Fatalf("the row of %v changed:\n%+v\nbefore:\n%+v", id, after, before)
	}
}

// same compares rows, but for when they were read.
func same(a, b runtime.Row) bool {
	answers := a.Answer.Status == b.Answer.Status &&
		bytes.Equal(a.Answer.Headers, b.Answer.Headers) && bytes.Equal(a.Answer.Body, b.Answer.Body)
	a.Answer, b.Answer = runtime.StoredAnswer{}, runtime.StoredAnswer{}
	a.Now, b.Now = 0, 0
	return answers && fmt.Sprintf("%+v", a) == fmt.Sprintf("%+v", b)
}

func (s *suite) wantAnswer(row runtime.Row, want runtime.StoredAnswer) {
	s.Helper()
	got := row.Answer
	if !row.Completed || got.Status != want.Status || !bytes.Equal(got.Headers, want.Headers) || !bytes.Equal(got.Body, want.Body) {
		s.Fatalf("completed %v with %d, %d bytes of headers, %d bytes of body; want %d, %d and %d, and each byte the same",
			row.Completed, got.Status, len(got.Headers), len(got.Body), want.Status, len(want.Headers), len(want.Body))
	}
}

func (s *suite) wantNoAnswer(row runtime.Row) {
	s.Helper()
	if row.Answer.Status != 0 || len(row.Answer.Headers) != 0 || len(row.Answer.Body) != 0 {
		s.Fatalf("the row has the answer %+v; want none", row.Answer)
	}
}

// wantLease says that a claim and its row have the terms from the moment at
// which the claim was made, to the millisecond.
func (s *suite) wantLease(claimed runtime.Claimed, row runtime.Row, terms runtime.Terms) {
	s.Helper()
	if got, want := claimed.LeaseUntil-claimed.Now, ms(terms.Lease); got != want {
		s.Errorf("the claim's lease ends %d ms after now; want %d", got, want)
	}
	if claimed.LeaseUntil != row.LeaseUntil || claimed.ClaimedAt != row.ClaimedAt || claimed.Generation != row.Generation {
		s.Errorf("claimed %+v, but the row is %+v", claimed, row)
	}
	if got, want := row.ExpiresAt-row.LeaseUntil, ms(terms.Retain); got != want {
		s.Errorf("the row expires %d ms after its lease; want %d", got, want)
	}
	if got, want := row.GoneAt-row.ExpiresAt, ms(terms.Gone); got != want {
		s.Errorf("the row is gone %d ms after its expiry; want %d", got, want)
	}
	if row.Now < claimed.Now {
		s.Errorf("a row read at %d was claimed at %d", row.Now, claimed.Now)
	}
}

// wantOf says whose request a row holds.
func (s *suite) wantOf(row runtime.Row, c runtime.Claim) {
	s.Helper()
	if row.Operation != c.Operation || row.Policy != c.Policy || row.Fingerprint != c.Fingerprint {
		s.Errorf("the row is of %q, %q, %x; want %q, %q, %x", row.Operation, row.Policy, row.Fingerprint, c.Operation, c.Policy, c.Fingerprint)
	}
}

// lost makes sure that a write that claims reports false and no error.
func (s *suite) lost(name string, claimed runtime.Claimed, won bool, err error) {
	s.Helper()
	if won || err != nil {
		s.Fatalf("%s = %+v, %v, %v; want it lost", name, claimed, won, err)
	}
}

func (s *suite) lostInsert(c runtime.Claim) {
	s.Helper()
	for _, c.Again = range []bool{false, true} {
		claimed, won, err := s.ledger.Insert(ctx(), c)
		s.lost("Insert", claimed, won, err)
	}
}

func (s *suite) lostTakeOver(at runtime.Fence, c runtime.Claim) {
	s.Helper()
	claimed, won, err := s.ledger.TakeOver(ctx(), at, c)
	s.lost("TakeOver", claimed, won, err)
}

func (s *suite) lostReuse(at runtime.Fence, c runtime.Claim) {
	s.Helper()
	claimed, won, err := s.ledger.Reuse(ctx(), at, c)
	s.lost("Reuse", claimed, won, err)
}
