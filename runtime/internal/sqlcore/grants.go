package sqlcore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"

	"github.com/idemgen/idemgen/runtime"
)

// CheckGrants makes each kind of write that requests will make, in a transaction
// that undone rolls back, so that a missing grant is told at the start and not by
// the first completion, when an effect stands already. Whatever else goes wrong
// is no matter of grants, and may pass before the first request.
func (l *Core[DB]) CheckGrants(ctx context.Context, undone func(ctx context.Context, write func(context.Context, DB) error) error) error {
	ctx, cancel := context.WithTimeout(ctx, l.Limit)
	defer cancel()
	err := undone(ctx, func(ctx context.Context, db DB) error {
		for _, w := range l.writesOfAll() {
			if err := w.run(ctx, db); l.Engine.Is(err, Denied) {
				return fmt.Errorf("idemgen: the role of these connections lacks a grant on the ledger's table, and cannot %s rows; it needs SELECT, INSERT, UPDATE and DELETE: %w", w.verb, err)
			} else if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return nil // the transaction may have failed with it
			}
		}
		return nil
	})
	if l.Engine.Is(err, Denied) {
		return err
	}
	return nil
}

type kindOfWrite[DB any] struct {
	verb string
	run  func(context.Context, DB) error
}

// writesOfAll are one write of each kind, on a key that nobody has.
func (l *Core[DB]) writesOfAll() []kindOfWrite[DB] {
	c := runtime.Claim{ID: runtime.ID{Principal: "idemgen", Key: rand.Text()}, Operation: "start", Policy: runtime.Rule{}.String()}
	rand.Read(c.Owner[:])
	c.Terms = runtime.Terms{Lease: 1e9, Retain: 1e9}
	fence := runtime.Fence{ID: c.ID, Generation: 1, Owner: c.Owner}
	answer := runtime.StoredAnswer{Status: 200, Headers: []byte{}, Body: []byte{}}
	return []kindOfWrite[DB]{
		{"insert", func(ctx context.Context, db DB) error {
			_, err := l.Statements.Insert(ctx, db, insertParams(c))
			return err
		}},
		{"update", func(ctx context.Context, db DB) error {
			_, err := l.Statements.Renew(ctx, db, RenewParams{LeaseMs: 1000, Principal: c.Principal, Key: c.Key, Generation: 1, Owner: c.Owner[:]})
			return err
		}},
		{"update", func(ctx context.Context, db DB) error {
			_, err := l.Statements.Complete(ctx, db, l.CompleteParams(runtime.Completion{Fence: fence, Terms: c.Terms, Answer: answer}))
			return err
		}},
		{"update", func(ctx context.Context, db DB) error {
			_, err := l.Statements.Reuse(ctx, db, ReuseParams{
				Operation: c.Operation, Policy: c.Policy, Fingerprint: c.Fingerprint[:], Owner: c.Owner[:],
				Principal: c.Principal, Key: c.Key, SeenOwner: c.Owner[:],
			})
			return err
		}},
		{"delete", func(ctx context.Context, db DB) error {
			_, err := l.Statements.Release(ctx, db, l.FenceParams(fence))
			return err
		}},
	}
}
