package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/idemgen/idemgen/runtime/internal/boundary"
)

// An Engine is the transport-free core: it guards work of any number of
// policies with one ledger. Its methods are safe for concurrent use. The zero
// value is not usable; call [NewEngine], and Close at the end of the process.
type Engine struct {
	ledger     Ledger
	settings   settings
	seen       *seenSet
	background *background
	mender     mender
	sweeper    sweeper
	renewer    renewer
	waiters    waiters
	gates      gates
	callers    callers
	kept       KeptLedger // nil: callers may keep any number of keys
	retakes    retakes
	sightings  sightings
	overdue    overdue
}

// NewEngine returns an engine on a ledger. Several engines, in one process or
// many, may share a ledger's table.
func NewEngine(ledger Ledger, opts ...Option) (*Engine, error) {
	if isNil(ledger) {
		return nil, errors.New("idemgen: NewEngine: nil ledger")
	}
	s, err := newSettings(opts)
	if err != nil {
		return nil, err
	}
	kept, err := s.keptLedger(ledger)
	if err != nil {
		return nil, err
	}
	watched := ledger
	if boundary.Armed() {
		watched = newStepped(ledger)
	}
	e := &Engine{ledger: watched, settings: s, kept: kept, seen: newSeenSet(), background: newBackground()}
	e.mender.init(e.background)
	e.sweeper.start = time.Now()
	if notifier, ok := ledger.(RetryNotifier); ok && s.observer != nil {
		notifier.NotifyRetry(func(ctx context.Context, statement string, err error) {
			// The statement may hold up others: it is not to wait for an observer.
			// Nor do the notes of its request take it, which another goroutine keeps.
			e.background.keep(func() { s.observe(ctx, Event{Kind: EventLedgerRetried, Code: statement, Err: err}) })
		})
	}
	return e, nil
}

// RetryNotifier is implemented by ledgers that can tell when a statement of
// theirs failed and is repeated. Every function that NotifyRetry was given is
// called.
type RetryNotifier interface {
	NotifyRetry(func(ctx context.Context, statement string, err error))
}

// Guard returns a guard for one policy, or the rules that the policy breaks.
func (e *Engine) Guard(p Policy) (*Guard, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	return &Guard{
		engine: e,
		policy: p,
		rule:   e.settings.newRule(p.Fingerprint),
		terms:  Terms{Lease: p.Lease, Retain: p.Retain, Gone: p.Gone},
	}, nil
}

// confirm reports whether a claim has completed its row, and does so durably.
func (e *Engine) confirm(ctx context.Context, f Fence) (bool, error) {
	if c, ok := e.ledger.(Confirmer); ok {
		return c.Confirm(ctx, f)
	}
	row, found, err := e.ledger.Read(ctx, f.ID)
	return err == nil && found && row.Completed && row.Generation == f.Generation && row.Owner == f.Owner, err
}

// Close waits until the completions, releases and sweeps that run in the
// background are done. When ctx ends first, they are abandoned and an error says
// how many: their claims stay pending until their leases end. Claims of requests
// that did not run are given back if the ledger answers, and are not waited for
// otherwise: their leases end them. Close does not wait for requests; stop the
// server first.
func (e *Engine) Close(ctx context.Context) error {
	e.mender.close()
	if left := e.background.close(ctx); left > 0 {
		owed := e.mender.abandon()
		return fmt.Errorf("idemgen: %d completions or releases, and %d sweeps or claims that did not run, were abandoned: %w", owed, left-owed, context.Cause(ctx))
	}
	return nil
}

// Guard makes work of one policy run at most once per claim. Its methods are
// safe for concurrent use. The zero value is not usable; see [Engine.Guard].
type Guard struct {
	engine *Engine
	policy Policy
	rule   string
	terms  Terms
	pace   pace
}

// observe tells the observer, when there is one.
func (g *Guard) observe(ctx context.Context, id ID, e Event) {
	s := &g.engine.settings
	if s.observer == nil {
		return
	}
	e.Operation, e.Principal, e.KeyHash = g.policy.Operation, id.Principal, keyHash(s.secret, id)
	s.tell(ctx, e)
}

// stopwatch is when something begins whose duration an observer is told.
func (g *Guard) stopwatch() (start time.Time) {
	if g.engine.settings.observer != nil {
		start = time.Now()
	}
	return start
}

// since is what a stopwatch shows: 0 where nobody is told.
func (g *Guard) since(start time.Time) time.Duration {
	if start.IsZero() {
		return 0
	}
	return time.Since(start)
}

// log writes what an operator must see.
func (g *Guard) log(ctx context.Context, level slog.Level, id ID, message string, attrs ...slog.Attr) {
	s := &g.engine.settings
	all := append([]slog.Attr{slog.String("operation", g.policy.Operation)}, attrs...)
	if hash := keyHash(s.secret, id); hash != "" {
		all = append(all, slog.String("key_hash", hash))
	}
	s.say(ctx, level, message, all...)
}
