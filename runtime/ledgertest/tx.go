package ledgertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/idemgen/idemgen/runtime"
)

var commitCases = []txCase{
	{"lets the effect and the answer stand together", func(s *txSuite) {
		c, f := s.pending(key("k"))
		tx := s.begin(f)
		s.effect(tx, "one")
		done := completion(f, "answer")
		s.completeIn(tx, done)
		if s.reader != nil {
			s.wantEffectsOn(s.reader, 0)
			if row := s.read(c.ID); row.Completed {
				s.Fatalf("the row is %+v before the commit", row)
			}
		}
		s.commit(tx)
		s.wantEffects(1)
		s.wantAnswer(s.read(c.ID), done.Answer)
		s.wantUsable()
	}},
	{"stores what a completion without a transaction stores", func(s *txSuite) {
		in, fin := s.pending(key("in"))
		out, fout := s.pending(key("out"))
		tx := s.begin(fin)
		s.completeIn(tx, completion(fin, "answer"))
		s.commit(tx)
		s.complete(completion(fout, "answer"))
		a, b := s.read(in.ID), s.read(out.ID)
		s.wantAnswer(a, b.Answer)
		if a.GoneAt-a.ExpiresAt != b.GoneAt-b.ExpiresAt || a.Generation != b.Generation || a.Owner != in.Owner {
			s.Errorf("inside: %+v\noutside: %+v", a, b)
		}
	}},
	{"is recognised when the completion is repeated outside", func(s *txSuite) {
		c, f := s.pending(key("k"))
		tx := s.begin(f)
		s.completeIn(tx, completion(f, "answer"))
		s.commit(tx)
		before := s.read(c.ID)
		s.complete(completion(f, "answer"))
		s.wantUnchanged(c.ID, before)
	}},
	{"lets neither stand after a rollback", func(s *txSuite) {
		c, f := s.pending(key("k"))
		before := s.read(c.ID)
		tx := s.begin(f)
		s.effect(tx, "one")
		s.rollback(tx)
		s.wantEffects(0)
		s.wantUnchanged(c.ID, before)
		s.complete(completion(f, "answer"))
		s.wantUsable()
	}},
	{"lets neither stand after a rollback of a completed transaction", func(s *txSuite) {
		c, f := s.pending(key("k"))
		before := s.read(c.ID)
		tx := s.begin(f)
		s.effect(tx, "one")
		s.completeIn(tx, completion(f, "answer"))
		s.rollback(tx)
		s.wantEffects(0)
		s.wantUnchanged(c.ID, before)
		s.wantUsable()
	}},
	{"lets neither stand when the fence does not hold at the completion", func(s *txSuite) {
		c, f := s.pending(key("k"))
		before := s.read(c.ID)
		for i, other := range otherFences(s.suite, f) {
			tx := s.begin(f)
			s.effect(tx, fmt.Sprint("effect ", i))
			if stands, err := tx.Complete(ctx(), completion(other, "answer")); err != nil || stands {
				s.Fatalf("Complete under another fence = %v, %v; want false", stands, err)
			}
			s.rollback(tx)
			s.wantEffects(0)
			s.wantUnchanged(c.ID, before)
		}
		s.wantUsable()
	}},
	{"lets neither stand when the claim is gone at the completion", func(s *txSuite) {
		_, f := s.pending(key("k"))
		tx := s.begin(f)
		s.effect(tx, "one")
		s.completeIn(tx, completion(f, "answer"))
		if stands, err := tx.Complete(ctx(), completion(f, "another answer")); err == nil && stands {
			s.Fatal("a second completion in one transaction stood")
		}
		s.rollback(tx)
		s.wantEffects(0)
	}},
	{"may follow a rollback under the same claim", func(s *txSuite) {
		c, f := s.pending(key("k"))
		tx := s.begin(f)
		s.effect(tx, "one")
		s.rollback(tx)
		tx = s.begin(f)
		s.effect(tx, "one")
		s.completeIn(tx, completion(f, "answer"))
		s.commit(tx)
		s.wantEffects(1)
		s.wantAnswer(s.read(c.ID), completion(f, "answer").Answer)
	}},
	{"is clean after a statement that failed and a rollback", func(s *txSuite) {
		c, f := s.pending(key("k"))
		before := s.read(c.ID)
		tx := s.begin(f)
		s.effect(tx, "one")
		if err := tx.Handle().Exec(ctx(), "INSERT INTO ledgertest_effects (name) VALUES ('one')"); err == nil {
			s.Fatal("the second effect of one name was taken")
		}
		if err := tx.Handle().Exec(ctx(), "INSERT INTO ledgertest_no_such_table (name) VALUES ('one')"); err == nil {
			s.Fatal("an effect in a table that is absent was taken")
		}
		s.rollback(tx)
		s.wantEffects(0)
		s.wantUnchanged(c.ID, before)
		s.wantUsable()
	}},
	{"leaves a handler its own savepoints", func(s *txSuite) {
		c, f := s.pending(key("k"))
		tx := s.begin(f)
		for _, statement := range []string{
			"SAVEPOINT mine", "INSERT INTO ledgertest_effects (name) VALUES ('undone')", "ROLLBACK TO SAVEPOINT mine",
			"INSERT INTO ledgertest_effects (name) VALUES ('kept')", "RELEASE SAVEPOINT mine", "SAVEPOINT left_open",
		} {
			if err := tx.Handle().Exec(ctx(), statement); err != nil {
				s.Fatalf("%s: %v", statement, err)
			}
		}
		s.completeIn(tx, completion(f, "answer"))
		s.commit(tx)
		s.wantEffects(1)
		s.wantAnswer(s.read(c.ID), completion(f, "answer").Answer)
	}},
	{"may take a mebibyte", func(s *txSuite) {
		c, f := s.pending(key("k"))
		tx := s.begin(f)
		done := completion(f, "answer")
		done.Answer.Body = make([]byte, 1<<20)
		for i := range done.Answer.Body {
			done.Answer.Body[i] = byte(i * 7)
		}
		s.completeIn(tx, done)
		s.commit(tx)
		s.wantAnswer(s.read(c.ID), done.Answer)
	}},
}

var beginCases = []txCase{
	{"opens no transaction when the fence does not hold", func(s *txSuite) {
		c, f := s.pending(key("k"))
		before := s.read(c.ID)
		for range 5 {
			s.wantNotBegun(otherFences(s.suite, f)...)
		}
		s.wantUnchanged(c.ID, before)
		s.wantUsable()
	}},
	{"opens no transaction for a key without a row", func(s *txSuite) {
		s.wantNotBegun(runtime.Fence{ID: key("k"), Generation: 1, Owner: s.owner()})
		s.wantAbsent(key("k"))
		s.wantUsable()
	}},
	{"opens no transaction for a completed row", func(s *txSuite) {
		c, f := s.completed(key("k"))
		before := s.read(c.ID)
		s.wantNotBegun(f)
		s.wantUnchanged(c.ID, before)
		s.wantUsable()
	}},
	{"opens no transaction for an owner that was taken over or released", func(s *txSuite) {
		c, f := s.pending(key("k"))
		s.endLease(f)
		next := s.claim(c.ID)
		taken := fence(next, s.takeOver(f, next).Generation)
		s.wantNotBegun(f)
		s.release(taken)
		s.wantNotBegun(f, taken)
		s.pending(c.ID)
		s.wantNotBegun(f, taken)
		s.wantUsable()
	}},
	{"holds after the lease while nobody took over", func(s *txSuite) {
		c, f := s.pending(key("k"))
		s.age(lease)
		tx := s.begin(f)
		s.effect(tx, "one")
		s.completeIn(tx, completion(f, "answer"))
		s.commit(tx)
		s.wantEffects(1)
		s.wantAnswer(s.read(c.ID), completion(f, "answer").Answer)
	}},
	{"changes nothing by itself", func(s *txSuite) {
		c, f := s.pending(key("k"))
		before := s.read(c.ID)
		tx := s.begin(f)
		s.commit(tx)
		s.wantUnchanged(c.ID, before)
	}},
	{"locks the row, and no reader of it", func(s *txSuite) {
		c, f := s.pending(key("k"))
		tx := s.begin(f)
		if s.reader != nil {
			if row := s.read(c.ID); row.Owner != c.Owner {
				s.Errorf("beside the transaction, the row is %+v", row)
			}
		}
		s.rollback(tx)
	}},
}

func (s *txSuite) wantNotBegun(fences ...runtime.Fence) {
	s.Helper()
	for _, f := range fences {
		if tx, held, err := s.tx.Begin(ctx(), f, lease); held || err != nil {
			s.Fatalf("Begin under generation %d, owner %q = %v, %v, %v; want it fenced out", f.Generation, f.Owner[:], tx, held, err)
		}
	}
}

var txContextCases = []txCase{
	{"that end in the middle do not roll back", func(s *txSuite) {
		c, f := s.pending(key("k"))
		caller, cancel := context.WithCancel(ctx())
		tx, held, err := s.tx.Begin(caller, f, lease)
		if err != nil || !held {
			s.Fatalf("Begin = %v, %v", held, err)
		}
		s.effect(tx, "before")
		cancel()
		if err := tx.Handle().Exec(caller, "INSERT INTO ledgertest_effects (name) VALUES ('under an ended context')"); err == nil {
			s.Fatal("a statement under an ended context ran")
		}
		s.effect(tx, "after")
		s.completeIn(tx, completion(f, "answer"))
		s.commit(tx)
		s.wantEffects(2)
		s.wantAnswer(s.read(c.ID), completion(f, "answer").Answer)
	}},
	{"that have ended open no transaction", func(s *txSuite) {
		c, f := s.pending(key("k"))
		before := s.read(c.ID)
		ended, cancel := context.WithCancel(ctx())
		cancel()
		for range 5 {
			if tx, held, err := s.tx.Begin(ended, f, lease); held || !passes(err) {
				s.Fatalf("Begin under an ended context = %v, %v, %v; want an error that passes", tx, held, err)
			}
		}
		s.wantUnchanged(c.ID, before)
		s.wantUsable()
	}},
	{"that have ended complete nothing, and leave a rollback clean", func(s *txSuite) {
		c, f := s.pending(key("k"))
		before := s.read(c.ID)
		tx := s.begin(f)
		s.effect(tx, "one")
		ended, cancel := context.WithCancel(ctx())
		cancel()
		if stands, err := tx.Complete(ended, completion(f, "answer")); stands || !passes(err) || errors.Is(err, runtime.ErrTxEnded) {
			s.Fatalf("Complete under an ended context = %v, %v; want an error that passes", stands, err)
		}
		s.rollback(tx)
		s.wantEffects(0)
		s.wantUnchanged(c.ID, before)
		s.wantUsable()
	}},
	{"that have ended leave no transaction after a rollback", func(s *txSuite) {
		c, f := s.pending(key("k"))
		before := s.read(c.ID)
		tx := s.begin(f)
		s.effect(tx, "one")
		ended, cancel := context.WithCancel(ctx())
		cancel()
		if err := tx.Rollback(ended); errors.Is(err, runtime.ErrTxEnded) {
			s.Fatalf("Rollback under an ended context: %v", err)
		}
		s.wantEffects(0)
		s.wantUnchanged(c.ID, before)
		s.wantUsable()
	}},
}

var txRaceCases = []txCase{
	{"finish on a small pool", func(s *txSuite) {
		const workers, rounds = 4, 5
		claims := make([]runtime.Claim, workers*rounds)
		for i := range claims {
			claims[i] = s.claim(key(fmt.Sprint("k", i)))
		}
		s.together(workers, func(w int) error {
			for r := range rounds {
				if err := s.request(claims[w*rounds+r], fmt.Sprintf("effect %d %d", w, r)); err != nil {
					return err
				}
			}
			return nil
		})
		s.wantEffects(workers * rounds)
	}},
	{"for one key have one effect", func(s *txSuite) {
		for round := range 10 {
			c, f := s.pending(key(fmt.Sprint("k", round)))
			s.endLease(f)
			next := s.claim(c.ID)
			errFenced := errors.New("fenced out")
			won := s.race(2, func(i int) (bool, error) {
				mine := f
				if i == 1 {
					claimed, won, err := s.ledger.TakeOver(ctx(), f, next)
					if err != nil || !won {
						return false, err
					}
					mine = fence(next, claimed.Generation)
				}
				err := s.work(mine, fmt.Sprintf("effect %d", round), errFenced)
				if errors.Is(err, errFenced) {
					return false, nil
				}
				return err == nil, err
			})
			s.wantEffects(round + 1)
			if row := s.read(c.ID); !row.Completed || (row.Owner == c.Owner) != (won == 0) {
				s.Fatalf("racer %d won; the row is %+v", won, row)
			}
		}
	}},
	{"let a takeover wait for the transaction and lose to it", func(s *txSuite) {
		c, f := s.pending(key("k"))
		s.endLease(f)
		tx := s.begin(f)
		s.effect(tx, "one")
		next := s.claim(c.ID)
		type result struct {
			won bool
			err error
		}
		taken := make(chan result)
		go func() {
			_, won, err := s.ledger.TakeOver(ctx(), f, next)
			taken <- result{won, err}
		}()
		s.completeIn(tx, completion(f, "answer"))
		s.commit(tx)
		if r := <-taken; r.won || r.err != nil {
			s.Fatalf("TakeOver of a row in a transaction = %v, %v; want it lost", r.won, r.err)
		}
		s.wantEffects(1)
		s.wantAnswer(s.read(c.ID), completion(f, "answer").Answer)
	}},
}

// request is one whole request for a key of its own.
func (s *txSuite) request(c runtime.Claim, effect string) error {
	claimed, won, err := s.ledger.Insert(ctx(), c)
	if err != nil || !won {
		return fmt.Errorf("insert reports %v, %w", won, err)
	}
	return s.work(fence(c, claimed.Generation), effect, errors.New("fenced out"))
}

// work is a transaction under a claim. It returns fenced when the claim was
// lost, and otherwise what failed.
func (s *txSuite) work(f runtime.Fence, effect string, fenced error) error {
	tx, held, err := s.tx.Begin(ctx(), f, lease)
	if err != nil {
		return err
	}
	if !held {
		return fenced
	}
	err = tx.Handle().Exec(ctx(), "INSERT INTO ledgertest_effects (name) VALUES ('"+effect+"')")
	stands := false
	if err == nil {
		stands, err = tx.Complete(ctx(), completion(f, "answer"))
	}
	if err == nil && stands {
		return tx.Commit(ctx())
	}
	if err == nil {
		err = fenced
	}
	return errors.Join(err, tx.Rollback(ctx()))
}
