// Package sqlcore is what the ledgers on database/sql and on pgx have in common:
// everything but their drivers' transactions. It turns transitions into
// statements, limits and retries them, and recognises its own writes.
package sqlcore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// DefaultLimit is the time limit of a statement.
const DefaultLimit = 5 * time.Second

// Core implements [runtime.OperatorLedger] on statements that run on a DB. Its
// fields are set before its first use; then it is safe for concurrent use.
type Core[DB any] struct {
	Writer     DB
	Reader     DB // may be the writer
	Statements Statements[DB]
	Engine     Engine
	Limit      time.Duration // of each statement, its retries included
	// Doubted says that a row may be seen which is not durable: commits wait for
	// standbys, or one of this ledger was given up.
	Doubted atomic.Bool
	// Shared lets claims of new keys, and completions, commit together; nil
	// commits each by itself.
	Shared *Sharing[DB]
	Exec   func(ctx context.Context, statement string) error

	confirmed confirmedSet

	mu      sync.Mutex
	onRetry []func(ctx context.Context, statement string, err error)
}

// NotifyRetry implements [runtime.RetryNotifier].
func (l *Core[DB]) NotifyRetry(f func(ctx context.Context, statement string, err error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.onRetry = append(l.onRetry, f)
}

// Insert implements [runtime.Ledger].
func (l *Core[DB]) Insert(ctx context.Context, c runtime.Claim) (runtime.Claimed, bool, error) {
	params := insertParams(c)
	won, r := false, Claimed{}
	run := func(insert func(context.Context, DB, InsertParams) (Claimed, error)) func(context.Context, DB) error {
		return func(ctx context.Context, db DB) (err error) {
			r, err = insert(ctx, db, params)
			won = err == nil
			if errors.Is(err, sql.ErrNoRows) {
				return nil
			}
			return err
		}
	}
	w := &Write[DB]{id: c.ID, Insert: &params, again: c.Again, run: run(l.Statements.Insert)}
	if s, ok := l.Statements.(firsts[DB]); ok {
		w.first = run(s.InsertFirst)
	}
	if err := l.write(ctx, insertStatement, w); err != nil {
		return runtime.Claimed{}, false, err
	}
	if w.Rows > 0 {
		won, r = true, Claimed{Generation: 1, ClaimedAt: w.Now, LeaseUntil: w.Now + params.LeaseMs}
	}
	if !won {
		return runtime.Claimed{}, false, nil
	}
	return claimedUnder(c.Terms, r), true, nil
}

// firsts is implemented by statements of engines on which a claim that is sent
// for the first time, and so need not look for itself, is a cheaper statement.
type firsts[DB any] interface {
	InsertFirst(context.Context, DB, InsertParams) (Claimed, error)
}

// write makes a write that may share its commit with others. After an error it
// may still happen, so that what its statement has set is not to be looked at.
func (l *Core[DB]) write(ctx context.Context, name string, w *Write[DB]) error {
	ctx, cancel := context.WithTimeout(ctx, l.Limit)
	defer cancel()
	alone := func(ctx context.Context, isFirst bool) error {
		s := &sending{Context: ctx}
		s.sent.Store(!isFirst && !errors.Is(w.err, runtime.ErrNotSent))
		return s.ended(l.retry(s, name, func(ctx context.Context, attempt int) error {
			if isFirst && attempt == 1 && w.first != nil {
				return s.attempted(w.first(ctx, l.Writer))
			}
			return s.attempted(w.run(ctx, l.Writer))
		}))
	}
	if l.Shared == nil || w.again {
		return alone(ctx, !w.again)
	}
	return l.Engine.Classify(l.Shared.do(ctx, w, alone))
}

// claimedUnder is a claim as the runtime sees it.
func claimedUnder(terms runtime.Terms, r Claimed) runtime.Claimed {
	return runtime.Claimed{
		Generation: r.Generation, ClaimedAt: r.ClaimedAt, LeaseUntil: r.LeaseUntil,
		Now: r.LeaseUntil - terms.Lease.Milliseconds(),
	}
}

func insertParams(c runtime.Claim) InsertParams {
	return InsertParams{
		Principal: c.Principal, Scope: c.Scope, Key: c.Key,
		Operation: c.Operation, Policy: c.Policy, Fingerprint: c.Fingerprint[:], Owner: c.Owner[:],
		LeaseMs: c.Lease.Milliseconds(), RetainMs: c.Retain.Milliseconds(), GoneMs: c.Gone.Milliseconds(),
	}
}

// Read implements [runtime.Ledger].
func (l *Core[DB]) Read(ctx context.Context, id runtime.ID) (row runtime.Row, found bool, err error) {
	return l.durably(ctx, id, func() (runtime.Row, bool, error) { return l.look(ctx, id) })
}

// look reads a row as it can be seen, durable or not.
func (l *Core[DB]) look(ctx context.Context, id runtime.ID) (row runtime.Row, found bool, err error) {
	err = l.Retry(ctx, "read", func(ctx context.Context, _ int) error {
		r, err := l.Statements.Read(ctx, l.Reader, ReadParams{Principal: id.Principal, Scope: id.Scope, Key: id.Key})
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		found = true
		row, err = r.row()
		return err
	})
	return row, found && err == nil, err
}

// row is the row as the runtime sees it.
func (r *ReadRow) row() (runtime.Row, error) {
	row := runtime.Row{
		Operation: r.Operation, Policy: r.Policy, Completed: r.Status == "completed", Generation: r.Generation,
		ClaimedAt: r.ClaimedAt, LeaseUntil: r.LeaseUntil, ExpiresAt: r.ExpiresAt, GoneAt: r.GoneAt, Now: r.Now,
		Answer: runtime.StoredAnswer{Status: int(r.ResponseStatus), Headers: r.ResponseHeaders, Body: r.ResponseBody},
	}
	if copy(row.Fingerprint[:], r.Fingerprint) != len(row.Fingerprint) || copy(row.Owner[:], r.Owner) != len(row.Owner) {
		return row, fmt.Errorf("idemgen: a row of the ledger is corrupt: fingerprint of %d bytes, owner of %d", len(r.Fingerprint), len(r.Owner))
	}
	return row, nil
}

// TakeOver implements [runtime.Ledger].
func (l *Core[DB]) TakeOver(ctx context.Context, seen runtime.Fence, c runtime.Claim) (runtime.Claimed, bool, error) {
	return l.retake(ctx, takeOverStatement, c, func(ctx context.Context) (Claimed, error) {
		return l.Statements.TakeOver(ctx, l.Writer, TakeOverParams{
			Owner:   c.Owner[:],
			LeaseMs: c.Lease.Milliseconds(), RetainMs: c.Retain.Milliseconds(), GoneMs: c.Gone.Milliseconds(),
			Principal: c.Principal, Scope: c.Scope, Key: c.Key,
			SeenGeneration: seen.Generation, SeenOwner: seen.Owner[:],
		})
	})
}

// Reuse implements [runtime.Ledger].
func (l *Core[DB]) Reuse(ctx context.Context, seen runtime.Fence, c runtime.Claim) (runtime.Claimed, bool, error) {
	return l.retake(ctx, reuseStatement, c, func(ctx context.Context) (Claimed, error) {
		return l.Statements.Reuse(ctx, l.Writer, ReuseParams{
			Operation: c.Operation, Policy: c.Policy, Fingerprint: c.Fingerprint[:], Owner: c.Owner[:],
			LeaseMs: c.Lease.Milliseconds(), RetainMs: c.Retain.Milliseconds(), GoneMs: c.Gone.Milliseconds(),
			Principal: c.Principal, Scope: c.Scope, Key: c.Key,
			SeenGeneration: seen.Generation, SeenOwner: seen.Owner[:],
		})
	})
}

// claim runs a statement that claims.
func (l *Core[DB]) claim(ctx context.Context, name string, c runtime.Claim, statement func(context.Context) (Claimed, error)) (claimed runtime.Claimed, won bool, err error) {
	s := &sending{Context: ctx}
	err = s.ended(l.Retry(s, name, func(ctx context.Context, _ int) error {
		r, err := statement(ctx)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		won, claimed = err == nil, claimedUnder(c.Terms, r)
		return s.attempted(err)
	}))
	if !won || err != nil {
		return runtime.Claimed{}, false, err
	}
	return claimed, true, nil
}

// retake is claim for statements that claim a row as it was seen. One that
// finds the row changed may have changed it itself, when its answer was lost
// and it was sent again, by this package or by database/sql: then the row
// carries this claim's owner token, and the claim stands once that is durable.
func (l *Core[DB]) retake(ctx context.Context, name string, c runtime.Claim, statement func(context.Context) (Claimed, error)) (runtime.Claimed, bool, error) {
	claimed, won, err := l.claim(ctx, name, c, statement)
	if won || err != nil {
		return claimed, won, err
	}
	row, found, err := l.look(ctx, c.ID)
	if err != nil || !found || row.Completed || row.Owner != c.Owner {
		return runtime.Claimed{}, false, err
	}
	own := runtime.Fence{ID: c.ID, Generation: row.Generation, Owner: c.Owner}
	if there, err := l.durable(ctx, own); err != nil || !there {
		return runtime.Claimed{}, false, err
	}
	return runtime.Claimed{
		Generation: row.Generation, ClaimedAt: row.ClaimedAt, LeaseUntil: row.LeaseUntil, Now: row.Now,
	}, true, nil
}

// Renew implements [runtime.Ledger].
func (l *Core[DB]) Renew(ctx context.Context, f runtime.Fence, terms runtime.Terms) (claimed runtime.Claimed, held bool, err error) {
	err = l.Retry(ctx, renewStatement, func(ctx context.Context, _ int) error {
		r, err := l.Statements.Renew(ctx, l.Writer, RenewParams{
			LeaseMs: terms.Lease.Milliseconds(), RetainMs: terms.Retain.Milliseconds(), GoneMs: terms.Gone.Milliseconds(),
			Principal: f.Principal, Scope: f.Scope, Key: f.Key, Generation: f.Generation, Owner: f.Owner[:],
		})
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		held, claimed = err == nil, claimedUnder(terms, r)
		return err
	})
	return claimed, held && err == nil, err
}

// Complete implements [runtime.Ledger].
func (l *Core[DB]) Complete(ctx context.Context, c runtime.Completion) (bool, error) {
	params := l.CompleteParams(c)
	var n int64
	run := func(ctx context.Context, db DB) (err error) {
		n, err = l.Statements.Complete(ctx, db, params)
		return err
	}
	w := &Write[DB]{id: c.ID, Complete: &params, run: run}
	if err := l.write(ctx, completeStatement, w); err != nil {
		return false, err
	}
	if n+w.Rows > 0 {
		l.confirmed.add(c.Fence)
		return true, nil
	}
	// Not pending under this fence: unless it has completed already.
	return l.Confirm(ctx, c.Fence)
}

// CompleteIn completes inside a handler's transaction, whose row [Statements.Lock]
// has locked. It is one statement, without retries.
func (l *Core[DB]) CompleteIn(ctx context.Context, db DB, c runtime.Completion) (bool, error) {
	complete := l.Statements.Complete
	if s, ok := l.Statements.(inner[DB]); ok {
		complete = s.CompleteIn
	}
	n, err := complete(ctx, db, l.CompleteParams(c))
	return n > 0 && err == nil, l.Engine.Classify(err)
}

// inner is implemented by statements of engines on which a completion inside a
// handler's transaction is a statement of its own.
type inner[DB any] interface {
	CompleteIn(context.Context, DB, CompleteParams) (int64, error)
}

// CompleteParams are the parameters of a completion.
func (l *Core[DB]) CompleteParams(c runtime.Completion) CompleteParams {
	return CompleteParams{
		ResponseStatus: int64(c.Answer.Status), ResponseHeaders: c.Answer.Headers, ResponseBody: c.Answer.Body,
		RetainMs: c.Retain.Milliseconds(), GoneMs: c.Gone.Milliseconds(),
		Principal: c.Principal, Scope: c.Scope, Key: c.Key, Generation: c.Generation, Owner: c.Owner[:],
	}
}

// FenceParams are the parameters of a fence.
func (l *Core[DB]) FenceParams(f runtime.Fence) FenceParams {
	return FenceParams{Principal: f.Principal, Scope: f.Scope, Key: f.Key, Generation: f.Generation, Owner: f.Owner[:]}
}

// Release implements [runtime.Ledger]. A repeated release finds no row of its
// own: whether the first attempt deleted it or another claim has it, it is no
// longer held.
func (l *Core[DB]) Release(ctx context.Context, f runtime.Fence) (held bool, err error) {
	err = l.Retry(ctx, releaseStatement, func(ctx context.Context, attempt int) error {
		n, err := l.Statements.Release(ctx, l.Writer, l.FenceParams(f))
		if err != nil || n > 0 || attempt == 1 {
			held = err == nil && n > 0
			return err
		}
		_, found, err := l.look(ctx, f.ID)
		held = err == nil && !found
		return err
	})
	return held && err == nil, err
}

// EndLease implements [runtime.Ledger].
func (l *Core[DB]) EndLease(ctx context.Context, f runtime.Fence) (held bool, err error) {
	err = l.Retry(ctx, endLeaseStatement, func(ctx context.Context, _ int) error {
		n, err := l.Statements.EndLease(ctx, l.Writer, l.FenceParams(f))
		held = n > 0
		return err
	})
	return held && err == nil, err
}

// Sweep implements [runtime.Ledger]. Nothing is written when nothing is due.
func (l *Core[DB]) Sweep(ctx context.Context, limit int) (swept int, err error) {
	if limit <= 0 {
		// SQLite takes a negative LIMIT for none.
		return 0, nil
	}
	err = l.Retry(ctx, "sweep", func(ctx context.Context, _ int) error {
		due, err := l.Statements.SweepDue(ctx, l.Reader)
		if err != nil || due == 0 {
			return err
		}
		dropped, err := l.Statements.SweepDrop(ctx, l.Writer, SweepParams{MaxRows: int64(limit - swept)})
		if err != nil {
			return err
		}
		swept += int(dropped)
		deleted, err := l.Statements.SweepDelete(ctx, l.Writer, SweepParams{MaxRows: int64(limit - swept)})
		swept += int(deleted)
		return err
	})
	return swept, err
}
