package ledgertest

import (
	"context"
	"errors"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// onceCases are rules of transactions that carry their own claim.
var onceCases = []txCase{
	{"lets claim, effect and answer stand together", func(s *txSuite) {
		c := s.claim(key("k"))
		tx, f := s.beginOnce(c)
		s.effect(tx, "one")
		done := completion(f, "answer")
		s.completeIn(tx, done)
		if s.reader != nil {
			s.wantAbsent(c.ID)
			s.wantEffectsOn(s.reader, 0)
		}
		s.commit(tx)
		s.wantEffects(1)
		row := s.read(c.ID)
		s.wantOf(row, c)
		s.wantAnswer(row, done.Answer)
		if row.Generation != 1 || row.Owner != c.Owner {
			s.Errorf("the row is %+v; want generation 1 of its owner", row)
		}
		s.wantUsable()
	}},
	{"stores what a claim and a completion outside store", func(s *txSuite) {
		in, out := s.claim(key("in")), s.claim(key("out"))
		tx, f := s.beginOnce(in)
		s.completeIn(tx, completion(f, "answer"))
		s.commit(tx)
		s.insert(out)
		s.complete(completion(fence(out, 1), "answer"))
		a, b := s.read(in.ID), s.read(out.ID)
		s.wantAnswer(a, b.Answer)
		if a.GoneAt-a.ExpiresAt != b.GoneAt-b.ExpiresAt || a.LeaseUntil-a.ClaimedAt != b.LeaseUntil-b.ClaimedAt {
			s.Errorf("inside: %+v\noutside: %+v", a, b)
		}
	}},
	{"leaves nothing after a rollback", func(s *txSuite) {
		c := s.claim(key("k"))
		tx, _ := s.beginOnce(c)
		s.effect(tx, "one")
		s.rollback(tx)
		s.wantEffects(0)
		s.wantAbsent(c.ID)
		tx, f := s.beginOnce(c)
		s.effect(tx, "one")
		s.completeIn(tx, completion(f, "answer"))
		s.rollback(tx)
		s.wantEffects(0)
		s.wantAbsent(c.ID)
		s.wantUsable()
	}},
	{"keeps the claim of an effect that was undone, for an answer", func(s *txSuite) {
		c := s.claim(key("k"))
		tx, f := s.beginOnce(c)
		s.effect(tx, "one")
		s.undo(tx)
		s.completeIn(tx, completion(f, "refused"))
		s.commit(tx)
		s.wantEffects(0)
		s.wantAnswer(s.read(c.ID), completion(f, "refused").Answer)
		s.wantUsable()
	}},
	{"keeps the claim of an effect that was undone, as pending", func(s *txSuite) {
		c := s.claim(key("k"))
		tx, f := s.beginOnce(c)
		s.effect(tx, "one")
		s.undo(tx)
		s.commit(tx)
		s.wantEffects(0)
		if row := s.read(c.ID); row.Completed || row.Owner != c.Owner || row.LeaseUntil-row.ClaimedAt != ms(lease) {
			s.Errorf("the row is %+v; want it pending with a lease", row)
		}
		s.complete(completion(f, "answer"))
		s.wantUsable()
	}},
	{"undoes an effect whose statement failed", func(s *txSuite) {
		c := s.claim(key("k"))
		tx, f := s.beginOnce(c)
		s.effect(tx, "one")
		if err := tx.Handle().Exec(ctx(), "INSERT INTO ledgertest_no_such_table (name) VALUES ('one')"); err == nil {
			s.Fatal("an effect in a table that is absent was taken")
		}
		s.undo(tx)
		s.completeIn(tx, completion(f, "refused"))
		s.commit(tx)
		s.wantEffects(0)
		s.wantAnswer(s.read(c.ID), completion(f, "refused").Answer)
	}},
	{"does not begin when a row holds the key, whatever its state", func(s *txSuite) {
		pending, _ := s.pending(key("pending"))
		completed, _ := s.completed(key("completed"))
		stale, f := s.pending(key("stale"))
		s.endLease(f)
		for _, c := range []runtime.Claim{pending, completed, stale} {
			before := s.read(c.ID)
			if tx, _, won, err := s.once(ctx(), s.claim(c.ID)); won || err != nil || tx != nil {
				s.Errorf("BeginOnce on a row that is %s = %v, %v; want false", c.Key, won, err)
			}
			s.wantUnchanged(c.ID, before)
		}
		s.wantUsable()
	}},
	{"keeps its key from others until it commits", func(s *txSuite) {
		if s.reader == nil {
			return // there is nobody else
		}
		c := s.claim(key("k"))
		tx, f := s.beginOnce(c)
		s.effect(tx, "one")
		short, cancel := context.WithTimeout(ctx(), 200*time.Millisecond)
		defer cancel()
		other, _, won, err := s.once(short, s.claim(c.ID))
		if won || !errors.Is(err, runtime.ErrRowLocked) && !errors.Is(err, runtime.ErrUnavailable) {
			s.Errorf("BeginOnce beside another transaction = %v, %v; want it locked", won, err)
		}
		if other != nil {
			s.rollback(other)
		}
		if _, won, err := s.ledger.Insert(short, s.claim(c.ID)); won || !errors.Is(err, runtime.ErrRowLocked) && !errors.Is(err, runtime.ErrUnavailable) {
			s.Errorf("Insert beside another transaction = %v, %v; want it locked", won, err)
		}
		s.completeIn(tx, completion(f, "answer"))
		s.commit(tx)
		s.wantEffects(1)
		s.wantAnswer(s.read(c.ID), completion(f, "answer").Answer)
	}},
	{"tells that it ended behind the ledger's back", func(s *txSuite) {
		for _, e := range endings {
			for step, end := range map[string]func(tx runtime.OnceTx[Handle], f runtime.Fence) error{
				"Complete": func(tx runtime.OnceTx[Handle], f runtime.Fence) error {
					_, err := tx.Complete(ctx(), completion(f, "answer"))
					return err
				},
				"Undo": func(tx runtime.OnceTx[Handle], _ runtime.Fence) error { return tx.Undo(ctx()) },
			} {
				c := s.claim(key(e.name + step))
				tx, f := s.beginOnce(c)
				s.effect(tx, e.name+step)
				if err := e.end(tx.Handle()); err != nil {
					s.Fatal(err)
				}
				if err := end(tx, f); !errors.Is(err, runtime.ErrTxEnded) {
					s.Errorf("%s after %s: %v; want ErrTxEnded", step, e.name, err)
				}
				if err := tx.Rollback(ctx()); !errors.Is(err, runtime.ErrTxEnded) {
					s.Errorf("Rollback after %s: %v; want ErrTxEnded", e.name, err)
				}
				// The runtime closes the key outside: it recognises the claim
				// that the handler committed, or makes it anew.
				s.insertAgain(c)
				s.complete(completion(f, "outcome unknown"))
			}
		}
		s.wantUsable()
	}},
}

// beginOnce opens a transaction with a claim, which must be won.
func (s *txSuite) beginOnce(c runtime.Claim) (runtime.OnceTx[Handle], runtime.Fence) {
	s.Helper()
	tx, claimed, won, err := s.once(ctx(), c)
	if err != nil || !won {
		s.Fatalf("BeginOnce(%v) = %v, %v; want it won", c.ID, won, err)
	}
	if claimed.Generation != 1 || claimed.LeaseUntil-claimed.ClaimedAt != ms(c.Lease) {
		s.Errorf("BeginOnce(%v) = %+v; want generation 1 and a full lease", c.ID, claimed)
	}
	return tx, fence(c, claimed.Generation)
}

func (s *txSuite) undo(tx runtime.OnceTx[Handle]) {
	s.Helper()
	if err := tx.Undo(ctx()); err != nil {
		s.Fatalf("Undo: %v", err)
	}
}

// beginOnce is what opens a transaction with its claim.
type beginOnce func(context.Context, runtime.Claim) (runtime.OnceTx[Handle], runtime.Claimed, bool, error)

// onceOf gives a ledger's BeginOnce to the suite, and false where its database
// cannot do it.
func onceOf[T any](l runtime.TxLedger[T], handle func(T) Handle) (beginOnce, bool) {
	once, ok := l.(runtime.OnceLedger[T])
	if !ok {
		return nil, false
	}
	return func(ctx context.Context, c runtime.Claim) (runtime.OnceTx[Handle], runtime.Claimed, bool, error) {
		tx, claimed, won, err := once.BeginOnce(ctx, c)
		if tx == nil {
			return nil, claimed, won, err
		}
		return onceTx[T]{handledTx[T]{tx, handle}, tx}, claimed, won, err
	}, once.CanOnce()
}

// onceTx is a transaction with its claim that the suite can use.
type onceTx[T any] struct {
	handledTx[T]
	once runtime.OnceTx[T]
}

// Undo implements [runtime.OnceTx].
func (t onceTx[T]) Undo(ctx context.Context) error { return t.once.Undo(ctx) }

// notOnceCases are for databases that cannot.
var notOnceCases = []txCase{{"is refused where the database cannot hold a claim", func(s *txSuite) {
	if s.once == nil {
		return // the ledger has no such method
	}
	c := s.claim(key("k"))
	if _, _, won, err := s.once(ctx(), c); won || err == nil {
		s.Fatalf("BeginOnce = %v, %v; want an error", won, err)
	}
	s.wantAbsent(c.ID)
	s.wantUsable()
}}}
