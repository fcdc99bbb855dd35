package ledgertest

import (
	"context"
	"errors"

	"github.com/idemgen/idemgen/runtime"
)

var contextCases = []testCase{
	{"that have ended let nothing be written", func(s *suite) {
		c, f := s.pending(key("pending"))
		stale, staleFence := s.pending(key("stale"))
		s.endLease(staleFence)
		old := s.claim(key("old"))
		old.Terms = runtime.Terms{}
		s.insert(old)
		ids := []runtime.ID{c.ID, stale.ID, old.ID}
		var before []runtime.Row
		for _, id := range ids {
			before = append(before, s.read(id))
		}
		ended, cancel := context.WithCancel(ctx())
		cancel()
		calls := map[string]func() error{
			"Insert": func() error { _, _, err := s.ledger.Insert(ended, s.claim(key("absent"))); return err },
			"Read":   func() error { _, _, err := s.ledger.Read(ended, c.ID); return err },
			"TakeOver": func() error {
				_, _, err := s.ledger.TakeOver(ended, staleFence, s.claim(stale.ID))
				return err
			},
			"Reuse": func() error {
				_, _, err := s.ledger.Reuse(ended, fence(old, 1), s.claim(old.ID))
				return err
			},
			"Renew":    func() error { _, _, err := s.ledger.Renew(ended, f, c.Terms); return err },
			"Complete": func() error { _, err := s.ledger.Complete(ended, completion(f, "answer")); return err },
			"EndLease": func() error { _, err := s.ledger.EndLease(ended, f); return err },
			"Release":  func() error { _, err := s.ledger.Release(ended, f); return err },
			"Sweep":    func() error { _, err := s.ledger.Sweep(ended, 100); return err },
		}
		for name, call := range calls {
			if err := call(); !passes(err) {
				s.Errorf("%s under an ended context: %v; want a context error or ErrUnavailable", name, err)
			}
			s.wantAbsent(key("absent"))
			for i, id := range ids {
				s.wantUnchanged(id, before[i])
			}
		}
	}},
	{"that end leave the ledger usable", func(s *suite) {
		for range 20 {
			ended, cancel := context.WithCancel(ctx())
			cancel()
			if _, _, err := s.ledger.Read(ended, key("k")); err == nil {
				s.Fatal("a read under an ended context succeeded")
			}
		}
		c, f := s.pending(key("k"))
		s.complete(completion(f, "answer"))
		s.read(c.ID)
	}},
}

// passes reports whether an error is one that passes with time.
func passes(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, runtime.ErrUnavailable) || errors.Is(err, runtime.ErrRowLocked)
}
