package ledgertest

import (
	"fmt"

	"github.com/idemgen/idemgen/runtime"
)

// crowd is how many writes are under way at once: so many that ledgers on which
// writes share their commits have to.
const crowd = 64

var crowdCases = []testCase{
	{"of claims all win their keys, with the times of a lone one", func(s *suite) {
		claims := make([]runtime.Claim, crowd)
		for i := range claims {
			claims[i] = s.claim(key(fmt.Sprint("k", i)))
		}
		claimed := make([]runtime.Claimed, crowd)
		s.together(crowd, func(i int) error {
			c, won, err := s.ledger.Insert(ctx(), claims[i])
			if claimed[i] = c; err == nil && !won {
				err = fmt.Errorf("claim %d did not win", i)
			}
			return err
		})
		for i, c := range claims {
			row := s.read(c.ID)
			s.wantOf(row, c)
			if row.Owner != c.Owner || row.Completed || row.Generation != 1 || row.ClaimedAt != claimed[i].ClaimedAt ||
				row.LeaseUntil != claimed[i].LeaseUntil || row.LeaseUntil-row.ClaimedAt != ms(lease) ||
				row.ExpiresAt-row.LeaseUntil != ms(retain) || row.GoneAt-row.ExpiresAt != ms(gone) {
				s.Errorf("the row is %+v, claimed as %+v", row, claimed[i])
			}
		}
	}},
	{"of claims leave rows of others as they are", func(s *suite) {
		rows, claims := make([]runtime.Row, crowd), make([]runtime.Claim, crowd)
		for i := range rows {
			c, f := s.pending(key(fmt.Sprint("k", i)))
			if i%2 == 0 {
				s.complete(completion(f, "answer"))
			}
			rows[i], claims[i] = s.read(c.ID), s.claim(c.ID)
		}
		s.together(crowd, func(i int) error {
			_, won, err := s.ledger.Insert(ctx(), claims[i])
			if err == nil && won {
				err = fmt.Errorf("claim %d won a row that stands", i)
			}
			return err
		})
		for i, c := range claims {
			s.wantUnchanged(c.ID, rows[i])
		}
	}},
	{"of completions stand under their fences alone", func(s *suite) {
		fences := make([]runtime.Fence, crowd)
		rows := make([]runtime.Row, crowd)
		for i := range fences {
			_, fences[i] = s.pending(key(fmt.Sprint("k", i)))
			rows[i] = s.read(fences[i].ID)
		}
		s.completeTogether(fences, "answer of nobody", func(i int) (runtime.Fence, bool) {
			others := otherFences(s, fences[i])
			return others[i%len(others)], false
		})
		for i, f := range fences {
			s.wantUnchanged(f.ID, rows[i])
		}
		s.completeTogether(fences, "answer", func(i int) (runtime.Fence, bool) { return fences[i], true })
		for i, f := range fences {
			rows[i] = s.read(f.ID)
			s.wantAnswer(rows[i], completion(f, "answer").Answer)
			if from := rows[i].ExpiresAt - ms(retain); from > rows[i].Now || rows[i].GoneAt-rows[i].ExpiresAt != ms(gone) {
				s.Errorf("the row is %+v", rows[i])
			}
		}
		s.completeTogether(fences, "another answer", func(i int) (runtime.Fence, bool) { return fences[i], true })
		for i, f := range fences {
			s.wantUnchanged(f.ID, rows[i])
		}
	}},
}

// completeTogether completes all keys at once, each under the fence that under
// gives, which says whether that stands.
func (s *suite) completeTogether(fences []runtime.Fence, body string, under func(i int) (runtime.Fence, bool)) {
	s.Helper()
	chosen, stands := make([]runtime.Fence, len(fences)), make([]bool, len(fences))
	for i := range fences {
		chosen[i], stands[i] = under(i)
	}
	s.together(len(fences), func(i int) error {
		stood, err := s.ledger.Complete(ctx(), completion(chosen[i], body))
		if err == nil && stood != stands[i] {
			err = fmt.Errorf("completion %d stands: %v", i, stood)
		}
		return err
	})
}
