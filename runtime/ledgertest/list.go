package ledgertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// listCases are about [runtime.ListLedger] and [runtime.KeptLedger]. A ledger that
// is none passes them by.
var listCases = []testCase{
	{"List goes through all keys in bytewise order, page by page", func(s *suite) {
		l := s.lists()
		ids := []runtime.ID{
			{Principal: "A", Key: "k"}, {Principal: "a", Key: "K"}, {Principal: "a", Key: "k"}, {Principal: "a", Key: "k "},
			{Principal: "a", Scope: "POST /a", Key: "a"}, {Principal: "a", Scope: "POST /b", Key: "a"}, {Principal: "a b", Key: "0"},
			{Principal: "a/b", Key: "0"}, {Principal: "\u00e9", Key: "0"}, {Principal: "\u65e5", Key: "0"},
		}
		for _, i := range []int{3, 9, 0, 5, 7, 1, 8, 2, 6, 4} {
			s.pending(ids[i])
		}
		for limit := 1; limit <= len(ids)+1; limit++ {
			var got []runtime.ID
			for after := (runtime.ID{}); ; {
				page := s.list(l, after, limit)
				for _, row := range page {
					got = append(got, row.ID)
				}
				if len(page) > limit {
					s.Fatalf("a page of %d has %d rows", limit, len(page))
				}
				if len(page) < limit {
					break
				}
				after = page[len(page)-1].ID
			}
			if !slices.Equal(got, ids) {
				s.Fatalf("by %d: %q; want %q", limit, got, ids)
			}
		}
		if page := s.list(l, runtime.ID{Principal: "a", Scope: "POST /a", Key: "b"}, 1); len(page) != 1 || page[0].ID != ids[5] {
			s.Fatalf("behind a key that no row holds: %v", page)
		}
		if page := s.list(l, runtime.ID{}, 0); len(page) != 0 {
			s.Fatalf("a page of none has %d rows", len(page))
		}
	}},
	{"List tells what rows are, and the size of their answers alone", func(s *suite) {
		l := s.lists()
		claim, _ := s.pending(key("a"))
		_, f := s.pending(key("b"))
		s.complete(completion(f, "answer"))
		s.age(time.Minute)
		rows := s.list(l, runtime.ID{}, 10)
		if len(rows) != 2 {
			s.Fatalf("%d rows; want 2", len(rows))
		}
		for i, id := range []runtime.ID{key("a"), key("b")} {
			got, want := rows[i].Row, s.read(id)
			if got.Now <= 0 || got.Now > want.Now {
				s.Errorf("%v was read at %d, before %d", id, got.Now, want.Now)
			}
			size := int64(len(want.Answer.Headers) + len(want.Answer.Body))
			want.Now, want.Fingerprint, want.Answer = got.Now, [32]byte{}, runtime.StoredAnswer{Status: want.Answer.Status}
			if fmt.Sprint(got) != fmt.Sprint(want) || rows[i].AnswerBytes != size || rows[i].RecoveryPoint != "" {
				s.Errorf("%+v; want %+v and %d bytes", rows[i], want, size)
			}
		}
		if rows[0].Row.Operation != claim.Operation || rows[0].Row.State() != runtime.StatePending || rows[1].Row.State() != runtime.StateCompleted {
			s.Errorf("%+v", rows)
		}
		if s.point == nil {
			return
		}
		s.point(key("a"), "charged")
		if rows := s.list(l, runtime.ID{}, 1); rows[0].RecoveryPoint != "charged" {
			s.Errorf("the row is not half done: %+v", rows[0])
		}
	}},
	{"Kept counts the rows of one principal, and no more than the limit", func(s *suite) {
		l, ok := s.ledger.(runtime.KeptLedger)
		if !ok {
			s.Skip("the ledger does not count what a principal keeps")
		}
		want := func(principal string, limit, want int) {
			s.Helper()
			if n, err := l.Kept(ctx(), principal, limit); err != nil || n != want {
				s.Fatalf("Kept(%q, %d) = %d, %v; want %d", principal, limit, n, err, want)
			}
		}
		want("alice", 10, 0)
		s.completed(key("done"))
		s.pending(key("pending"))
		s.pending(runtime.ID{Principal: "alice", Scope: "POST /orders", Key: "done"})
		s.pending(runtime.ID{Principal: "alice2", Key: "k"})
		s.pending(runtime.ID{Principal: "Alice", Key: "k"})
		want("alice", 10, 3)
		want("alice", 3, 3)
		want("alice", 2, 2)
		want("alice", 0, 0)
		want("alice2", 10, 1)
		_, f := s.pending(key("gone"))
		want("alice", 10, 4)
		if ok, err := s.ledger.Release(ctx(), f); err != nil || !ok {
			s.Fatalf("Release = %v, %v", ok, err)
		}
		want("alice", 10, 3)
		s.age(far)
		if _, err := s.ledger.Sweep(ctx(), 100); err != nil {
			s.Fatal(err)
		}
		want("alice", 10, 0)
	}},
}

// lists is the ledger as one that can be gone through.
func (s *suite) lists() runtime.ListLedger {
	l, ok := s.ledger.(runtime.ListLedger)
	if !ok {
		s.Skip("the ledger does not list its rows")
	}
	return l
}

func (s *suite) list(l runtime.ListLedger, after runtime.ID, limit int) []runtime.Listed {
	s.Helper()
	rows, err := l.List(ctx(), after, limit)
	if err != nil {
		s.Fatalf("List(%v, %d) = %v", after, limit, err)
	}
	return rows
}
