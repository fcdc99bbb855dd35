package pgxledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/internal/sqlcore"
)

// Ledger implements [runtime.OnceLedger] and [runtime.OperatorLedger] on a pool
// of pgx. It keeps no state in sessions and needs one connection at a time, so
// that a pool of one and a pooler in transaction mode will do: where prepared
// statements get lost, it stops to prepare. It is safe for concurrent use.
// Emitted ledgers construct it.
type Ledger struct {
	*core
	pool     *pgxpool.Pool
	together together
	lost     *sqlcore.LostNames
}

type core = sqlcore.Core[DBTX]

var (
	_ runtime.OnceLedger[pgx.Tx] = (*Ledger)(nil)
	_ runtime.OperatorLedger     = (*Ledger)(nil)
)

// Option configures a [Ledger].
type Option func(*options) error

type options struct {
	limit   time.Duration
	managed bool
	apart   bool
	weak    bool
}

// WithTimeLimit limits each statement, its retries and its wait for a
// connection included. The default is 5 s.
func WithTimeLimit(d time.Duration) Option {
	return func(o *options) error {
		if d <= 0 {
			return fmt.Errorf("idemgen: WithTimeLimit: %v is not a time limit: it must be above 0", d)
		}
		o.limit = d
		return nil
	}
}

// WithSchemaManaged leaves the schema to the operator: it is checked and never
// created.
func WithSchemaManaged() Option {
	return func(o *options) error {
		o.managed = true
		return nil
	}
}

// WithWeakDurability says that it is meant when the server may lose what it has
// acknowledged: synchronous_commit, fsync or full_page_writes are off, or the table
// is unlogged. Without this option [New] refuses such settings: after a crash an
// answer that was given is gone, and its request is run again.
func WithWeakDurability() Option {
	return func(o *options) error {
		o.weak = true
		return nil
	}
}

// WithSharedCommits says whether claims and completions of concurrent requests
// may commit together, which is the default. A request that
// is alone commits at once either way, and none is answered before the commit
// that carries its row is durable.
func WithSharedCommits(share bool) Option {
	return func(o *options) error {
		o.apart = !share
		return nil
	}
}

// New returns a ledger after creating what is missing of its schema and
// checking the schema's version. It refuses a server that is too old for the
// statements, and one that may lose what it has acknowledged, see
// [WithWeakDurability]. It is safe to call at every start, by many
// processes at once.
func New(ctx context.Context, pool *pgxpool.Pool, statements Statements, opts ...Option) (*Ledger, error) {
	if pool == nil {
		return nil, errors.New("idemgen: nil pool")
	}
	o := options{limit: sqlcore.DefaultLimit}
	for _, opt := range opts {
		if err := opt(&o); err != nil {
			return nil, err
		}
	}
	lost := new(sqlcore.LostNames)
	db := unprepared{pooled{pool}, lost}
	l := &Ledger{pool: pool, together: statements, lost: lost, core: &core{
		Writer: db, Reader: db, Statements: statements, Engine: sqlcore.Postgres, Limit: o.limit,
		Exec: func(ctx context.Context, statement string) error {
			_, err := pool.Exec(ctx, statement)
			return err
		},
	}}
	if err := l.checkSettings(ctx, o.weak); err != nil {
		return nil, err
	}
	if err := l.CheckSchema(ctx, o.managed); err != nil {
		return nil, err
	}
	if err := l.checkTable(ctx, o.weak); err != nil {
		return nil, err
	}
	if err := l.CheckGrants(ctx, l.undone); err != nil {
		return nil, err
	}
	if !o.apart {
		l.shareCommits()
	}
	return l, nil
}
