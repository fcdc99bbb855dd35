package ledgertest

import (
	"slices"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// operatorCases are about [runtime.OperatorLedger]. A ledger that is none
// passes them by.
var operatorCases = []testCase{
	{"Erase deletes the rows of one principal", func(s *suite) {
		l := s.operator()
		mine, _ := s.completed(key("mine"))
		scoped, _ := s.completed(runtime.ID{Principal: "alice", Scope: "POST /orders", Key: "mine"})
		other, _ := s.completed(runtime.ID{Principal: "alice2", Key: "mine"})
		s.wantErased(l, 10, 2)
		s.wantAbsent(mine.ID)
		s.wantAbsent(scoped.ID)
		s.read(other.ID)
	}},
	{"Erase keeps a claim whose lease is alive, though its retention is over", func(s *suite) {
		l := s.operator()
		running, f := s.pending(key("running"))
		over := s.claim(key("over"))
		over.Terms = runtime.Terms{Lease: lease, Retain: -lease}
		s.insert(over)
		s.wantErased(l, 10, 0)
		s.complete(completion(f, "answer"))
		s.age(lease)
		s.wantErased(l, 10, 2)
		s.wantAbsent(running.ID)
		s.wantAbsent(over.ID)
	}},
	{"Erase deletes a claim whose lease is over", func(s *suite) {
		l := s.operator()
		c, f := s.pending(key("k"))
		s.age(lease)
		s.wantErased(l, 10, 1)
		s.wantAbsent(c.ID)
		if stands, err := s.ledger.Complete(ctx(), completion(f, "late")); err != nil || stands {
			s.Fatalf("Complete of an erased claim = %v, %v; want it lost", stands, err)
		}
	}},
	{"Erase deletes at most limit rows", func(s *suite) {
		l := s.operator()
		for _, k := range []string{"a", "b", "c"} {
			s.completed(key(k))
		}
		s.wantErased(l, 2, 2)
		s.wantErased(l, 2, 1)
		s.wantErased(l, 2, 0)
	}},
	{"Counts tells what rows are", func(s *suite) {
		l := s.operator()
		s.wantCounts(l)
		for k, c := range map[string]struct {
			terms  runtime.Terms
			finish bool
		}{
			"pending":           {runtime.Terms{Lease: 3 * time.Hour, Retain: retain}, false},
			"lives in its last": {runtime.Terms{Lease: 3 * time.Hour, Retain: -2 * time.Hour}, false},
			"stale":             {runtime.Terms{Lease: time.Hour, Retain: retain}, false},
			"expired":           {runtime.Terms{Lease: time.Hour, Retain: time.Minute}, false},
			"completed":         {runtime.Terms{Lease: time.Hour, Retain: retain}, true},
			"answer is expired": {runtime.Terms{Lease: 3 * time.Hour, Retain: time.Hour}, true},
		} {
			claim := s.claim(key(k))
			claim.Operation, claim.Terms = "POST /orders", c.terms
			done := completion(fence(claim, s.insert(claim).Generation), "answer")
			if done.Terms = c.terms; c.finish {
				s.complete(done)
			}
		}
		beside := s.claim(key("beside"))
		beside.Operation, beside.Terms = "POST /refunds", runtime.Terms{Lease: 3 * time.Hour, Retain: retain}
		s.insert(beside)
		s.age(2 * time.Hour)
		s.wantCounts(l,
			runtime.Count{Operation: "POST /orders", State: runtime.StateCompleted, Rows: 1},
			runtime.Count{Operation: "POST /orders", State: runtime.StateExpired, Rows: 2},
			runtime.Count{Operation: "POST /orders", State: runtime.StatePending, Rows: 2},
			runtime.Count{Operation: "POST /orders", State: runtime.StateStale, Rows: 1},
			runtime.Count{Operation: "POST /refunds", State: runtime.StatePending, Rows: 1},
		)
	}},
}

// operator is the ledger as operators see it.
func (s *suite) operator() runtime.OperatorLedger {
	l, ok := s.ledger.(runtime.OperatorLedger)
	if !ok {
		s.Skip("the ledger is not for operators")
	}
	return l
}

func (s *suite) wantErased(l runtime.OperatorLedger, limit, want int) {
	s.Helper()
	if n, err := l.Erase(ctx(), "alice", limit); err != nil || n != want {
		s.Fatalf("Erase(%d) = %d, %v; want %d", limit, n, err, want)
	}
}

func (s *suite) wantCounts(l runtime.OperatorLedger, want ...runtime.Count) {
	s.Helper()
	got, err := l.Counts(ctx())
	if err != nil || !slices.Equal(got, want) {
		s.Fatalf("Counts() = %+v, %v; want %+v", got, err, want)
	}
}
