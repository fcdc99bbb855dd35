package ledgertest

import (
	"errors"

	"github.com/idemgen/idemgen/runtime"
)

// endings are the ways in which a handler may end its transaction.
var endings = []struct {
	name    string
	commits bool
	end     func(Handle) error
}{
	{"tx.Commit()", true, func(tx Handle) error { return tx.Commit(ctx()) }},
	{"tx.Rollback()", false, func(tx Handle) error { return tx.Rollback(ctx()) }},
	{"COMMIT", true, func(tx Handle) error { return tx.Exec(ctx(), "COMMIT") }},
	{"ROLLBACK", false, func(tx Handle) error { return tx.Exec(ctx(), "ROLLBACK") }},
}

// endedCases say that a transaction that ended behind the ledger's back is
// noticed, at the completion and at the rollback.
var endedCases = func() (cases []txCase) {
	for _, e := range endings {
		check := func(s *txSuite, tx runtime.Tx[Handle], c runtime.Claim) {
			s.Helper()
			if err := tx.Rollback(ctx()); !errors.Is(err, runtime.ErrTxEnded) {
				s.Fatalf("Rollback after %s: %v; want ErrTxEnded", e.name, err)
			}
			effects := 0
			if e.commits {
				effects = 1
			}
			s.wantEffects(effects)
			row := s.read(c.ID)
			if row.Completed || row.Owner != c.Owner {
				s.Fatalf("after %s the row is %+v; want it pending", e.name, row)
			}
			// The runtime closes the key outside the transaction.
			s.complete(completion(fence(c, 1), "outcome unknown"))
			s.wantUsable()
		}
		cases = append(cases,
			txCase{e.name + " is noticed at the completion", func(s *txSuite) {
				c, f := s.pending(key("k"))
				tx := s.begin(f)
				s.effect(tx, "one")
				if err := e.end(tx.Handle()); err != nil {
					s.Fatal(err)
				}
				if stands, err := tx.Complete(ctx(), completion(f, "answer")); stands || !errors.Is(err, runtime.ErrTxEnded) {
					s.Fatalf("Complete after %s = %v, %v; want ErrTxEnded", e.name, stands, err)
				}
				check(s, tx, c)
			}},
			txCase{e.name + " is noticed at the rollback", func(s *txSuite) {
				c, f := s.pending(key("k"))
				tx := s.begin(f)
				s.effect(tx, "one")
				if err := e.end(tx.Handle()); err != nil {
					s.Fatal(err)
				}
				check(s, tx, c)
			}},
		)
	}
	// The statements after the end autocommit, which is why it must not pass
	// unnoticed.
	return append(cases, txCase{"a transaction that the handler began anew is noticed", func(s *txSuite) {
		c, f := s.pending(key("k"))
		tx := s.begin(f)
		for _, statement := range []string{"COMMIT", "BEGIN"} {
			if err := tx.Handle().Exec(ctx(), statement); err != nil {
				s.Fatal(err)
			}
		}
		s.effect(tx, "one")
		if stands, err := tx.Complete(ctx(), completion(f, "answer")); stands || !errors.Is(err, runtime.ErrTxEnded) {
			s.Fatalf("Complete in another transaction = %v, %v; want ErrTxEnded", stands, err)
		}
		if err := tx.Rollback(ctx()); !errors.Is(err, runtime.ErrTxEnded) {
			s.Fatalf("Rollback of another transaction: %v; want ErrTxEnded", err)
		}
		if row := s.read(c.ID); row.Completed {
			s.Fatalf("the row is %+v; want it pending", row)
		}
		s.wantUsable()
	}})
}()
