package sqlledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// Ledger implements [runtime.TxLedger] on database/sql. It is safe for
// concurrent use. Emitted ledgers construct it.
type Ledger struct {
	writer     *sql.DB
	reader     *sql.DB
	statements Statements
	limit      time.Duration

	mu       sync.Mutex
	onRetry  []func(ctx context.Context, statement string, err error)
	checking bool // the schema is checked and not created
}

var _ runtime.TxLedger[*sql.Tx] = (*Ledger)(nil)

// Option configures a [Ledger].
type Option func(*Ledger) error

// WithReader reads rows on another pool, so that no writer blocks a replay.
// The pool must see what the ledger's own database has committed.
func WithReader(db *sql.DB) Option {
	return func(l *Ledger) error {
		if db == nil {
			return errors.New("idemgen: WithReader: nil database")
		}
		l.reader = db
		return nil
	}
}

// WithTimeLimit limits each statement, its retries and its wait for a
// connection included. The default is 5 s.
func WithTimeLimit(d time.Duration) Option {
	return func(l *Ledger) error {
		if d <= 0 {
			return fmt.Errorf("idemgen: WithTimeLimit: %v is not a time limit: it must be above 0", d)
		}
		l.limit = d
		return nil
	}
}

// WithSchemaManaged leaves the schema to the operator: it is checked and never
// created.
func WithSchemaManaged() Option {
	return func(l *Ledger) error {
		l.checking = true
		return nil
	}
}

// New returns a ledger after creating what is missing of its schema and
// checking the schema's version. It is safe to call at every start, by many
// processes at once.
func New(ctx context.Context, db *sql.DB, statements Statements, opts ...Option) (*Ledger, error) {
	if db == nil {
		return nil, errors.New("idemgen: nil database")
	}
	l := &Ledger{writer: db, reader: db, statements: statements, limit: 5 * time.Second}
	for _, opt := range opts {
		if err := opt(l); err != nil {
			return nil, err
		}
	}
	if err := l.checkSchema(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// NotifyRetry implements [runtime.RetryNotifier].
func (l *Ledger) NotifyRetry(f func(ctx context.Context, statement string, err error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.onRetry = append(l.onRetry, f)
}

// Insert implements [runtime.Ledger].
func (l *Ledger) Insert(ctx context.Context, c runtime.Claim) (runtime.Claimed, bool, error) {
	return l.claim(ctx, "insert", c, func(ctx context.Context) (Claimed, error) {
		return l.statements.Insert(ctx, l.writer, InsertParams{
			Principal: c.Principal, Scope: c.Scope, Key: c.Key,
			Operation: c.Operation, Policy: c.Policy, Fingerprint: c.Fingerprint[:], Owner: c.Owner[:],
			LeaseMs: c.Lease.Milliseconds(), RetainMs: c.Retain.Milliseconds(), GoneMs: c.Gone.Milliseconds(),
		})
	})
}

// Read implements [runtime.Ledger].
func (l *Ledger) Read(ctx context.Context, id runtime.ID) (row runtime.Row, found bool, err error) {
	err = l.retry(ctx, "read", func(ctx context.Context, _ int) error {
		r, err := l.statements.Read(ctx, l.reader, ReadParams{Principal: id.Principal, Scope: id.Scope, Key: id.Key})
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
func (l *Ledger) TakeOver(ctx context.Context, seen runtime.Fence, c runtime.Claim) (runtime.Claimed, bool, error) {
	return l.retake(ctx, "take over", c, func(ctx context.Context) (Claimed, error) {
		return l.statements.TakeOver(ctx, l.writer, TakeOverParams{
			Owner:   c.Owner[:],
			LeaseMs: c.Lease.Milliseconds(), RetainMs: c.Retain.Milliseconds(), GoneMs: c.Gone.Milliseconds(),
			Principal: c.Principal, Scope: c.Scope, Key: c.Key,
			SeenGeneration: seen.Generation, SeenOwner: seen.Owner[:],
		})
	})
}

// Reuse implements [runtime.Ledger].
func (l *Ledger) Reuse(ctx context.Context, seen runtime.Fence, c runtime.Claim) (runtime.Claimed, bool, error) {
	return l.retake(ctx, "reuse", c, func(ctx context.Context) (Claimed, error) {
		return l.statements.Reuse(ctx, l.writer, ReuseParams{
			Operation: c.Operation, Policy: c.Policy, Fingerprint: c.Fingerprint[:], Owner: c.Owner[:],
			LeaseMs: c.Lease.Milliseconds(), RetainMs: c.Retain.Milliseconds(), GoneMs: c.Gone.Milliseconds(),
			Principal: c.Principal, Scope: c.Scope, Key: c.Key,
			SeenGeneration: seen.Generation, SeenOwner: seen.Owner[:],
		})
	})
}

// claim runs a statement that claims.
func (l *Ledger) claim(ctx context.Context, name string, c runtime.Claim, statement func(context.Context) (Claimed, error)) (claimed runtime.Claimed, won bool, err error) {
	err = l.retry(ctx, name, func(ctx context.Context, _ int) error {
		r, err := statement(ctx)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		won = err == nil
		claimed = runtime.Claimed{
			Generation: r.Generation, ClaimedAt: r.ClaimedAt, LeaseUntil: r.LeaseUntil,
			Now: r.LeaseUntil - c.Lease.Milliseconds(),
		}
		return err
	})
	if !won || err != nil {
		return runtime.Claimed{}, false, err
	}
	return claimed, true, nil
}

// retake is claim for statements that claim a row as it was seen. One that
// finds the row changed may have changed it itself, when its answer was lost
// and it was sent again, by this package or by database/sql: then the row
// carries this claim's owner token.
func (l *Ledger) retake(ctx context.Context, name string, c runtime.Claim, statement func(context.Context) (Claimed, error)) (runtime.Claimed, bool, error) {
	claimed, won, err := l.claim(ctx, name, c, statement)
	if won || err != nil {
		return claimed, won, err
	}
	row, found, err := l.Read(ctx, c.ID)
	if err != nil || !found || row.Completed || row.Owner != c.Owner {
		return runtime.Claimed{}, false, err
	}
	return runtime.Claimed{
		Generation: row.Generation, ClaimedAt: row.ClaimedAt, LeaseUntil: row.LeaseUntil, Now: row.Now,
	}, true, nil
}

// Renew implements [runtime.Ledger].
func (l *Ledger) Renew(ctx context.Context, f runtime.Fence, terms runtime.Terms) (claimed runtime.Claimed, held bool, err error) {
	err = l.retry(ctx, "renew", func(ctx context.Context, _ int) error {
		r, err := l.statements.Renew(ctx, l.writer, RenewParams{
			LeaseMs: terms.Lease.Milliseconds(), RetainMs: terms.Retain.Milliseconds(), GoneMs: terms.Gone.Milliseconds(),
			Principal: f.Principal, Scope: f.Scope, Key: f.Key, Generation: f.Generation, Owner: f.Owner[:],
		})
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		held = err == nil
		claimed = runtime.Claimed{
			Generation: r.Generation, ClaimedAt: r.ClaimedAt, LeaseUntil: r.LeaseUntil,
			Now: r.LeaseUntil - terms.Lease.Milliseconds(),
		}
		return err
	})
	return claimed, held && err == nil, err
}

// Complete implements [runtime.Ledger].
func (l *Ledger) Complete(ctx context.Context, c runtime.Completion) (stands bool, err error) {
	err = l.retry(ctx, "complete", func(ctx context.Context, _ int) error {
		n, err := l.statements.Complete(ctx, l.writer, completeParams(c))
		if err != nil || n > 0 {
			stands = err == nil
			return err
		}
		// Not pending under this fence: unless it has completed already.
		row, found, err := l.Read(ctx, c.ID)
		stands = err == nil && found && row.Completed && row.Generation == c.Generation && row.Owner == c.Owner
		return err
	})
	return stands && err == nil, err
}

func completeParams(c runtime.Completion) CompleteParams {
	return CompleteParams{
		ResponseStatus: int64(c.Answer.Status), ResponseHeaders: c.Answer.Headers, ResponseBody: c.Answer.Body,
		RetainMs: c.Retain.Milliseconds(), GoneMs: c.Gone.Milliseconds(),
		Principal: c.Principal, Scope: c.Scope, Key: c.Key, Generation: c.Generation, Owner: c.Owner[:],
	}
}

func fenceParams(f runtime.Fence) FenceParams {
	return FenceParams{Principal: f.Principal, Scope: f.Scope, Key: f.Key, Generation: f.Generation, Owner: f.Owner[:]}
}

// Release implements [runtime.Ledger]. A repeated release finds no row of its
// own: whether the first attempt deleted it or another claim has it, it is no
// longer held.
func (l *Ledger) Release(ctx context.Context, f runtime.Fence) (held bool, err error) {
	err = l.retry(ctx, "release", func(ctx context.Context, attempt int) error {
		n, err := l.statements.Release(ctx, l.writer, fenceParams(f))
		if err != nil || n > 0 || attempt == 1 {
			held = err == nil && n > 0
			return err
		}
		_, found, err := l.Read(ctx, f.ID)
		held = err == nil && !found
		return err
	})
	return held && err == nil, err
}

// EndLease implements [runtime.Ledger].
func (l *Ledger) EndLease(ctx context.Context, f runtime.Fence) (held bool, err error) {
	err = l.retry(ctx, "end lease", func(ctx context.Context, _ int) error {
		n, err := l.statements.EndLease(ctx, l.writer, fenceParams(f))
		held = n > 0
		return err
	})
	return held && err == nil, err
}

// Sweep implements [runtime.Ledger]. Nothing is written when nothing is due.
func (l *Ledger) Sweep(ctx context.Context, limit int) (swept int, err error) {
	if limit <= 0 {
		// SQLite takes a negative LIMIT for none.
		return 0, nil
	}
	err = l.retry(ctx, "sweep", func(ctx context.Context, _ int) error {
		due, err := l.statements.SweepDue(ctx, l.reader)
		if err != nil || due == 0 {
			return err
		}
		dropped, err := l.statements.SweepDrop(ctx, l.writer, SweepParams{MaxRows: int64(limit - swept)})
		if err != nil {
			return err
		}
		swept += int(dropped)
		deleted, err := l.statements.SweepDelete(ctx, l.writer, SweepParams{MaxRows: int64(limit - swept)})
		swept += int(deleted)
		return err
	})
	return swept, err
}
