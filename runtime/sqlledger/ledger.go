package sqlledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/internal/sqlcore"
)

// Ledger implements [runtime.OnceLedger] (on MySQL [runtime.TxLedger] alone) and [runtime.OperatorLedger] on
// database/sql. It is safe for concurrent use. Emitted ledgers construct it.
type Ledger struct {
	*core
	db      *sql.DB
	unnamed any // see nameless
}

type core = sqlcore.Core[DBTX]

var (
	_ runtime.OnceLedger[*sql.Tx] = (*Ledger)(nil)
	_ runtime.OperatorLedger      = (*Ledger)(nil)
)

// Option configures a [Ledger].
type Option func(*options) error

type options struct {
	reader  *sql.DB
	limit   time.Duration
	managed bool
	apart   bool
	weak    bool
	// replicated is known of the server by who has asked it.
	replicated bool
}

// WithReader reads rows on another pool, so that no writer blocks a replay.
// The pool must see what the ledger's own database has committed.
func WithReader(db *sql.DB) Option {
	return func(o *options) error {
		if db == nil {
			return errors.New("idemgen: WithReader: nil database")
		}
		o.reader = db
		return nil
	}
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

// WithSharedCommits says whether claims and completions of concurrent requests
// may commit together, which is what they do on SQLite by default. A request that
// is alone commits at once either way, and none is answered before the commit
// that carries its row is durable.
func WithSharedCommits(share bool) Option {
	return func(o *options) error {
		o.apart = !share
		return nil
	}
}

// New returns a ledger after creating what is missing of its schema and
// checking the schema's version. It refuses a database that is too old for the
// statements, and one that may lose what it has acknowledged, see
// [WithWeakDurability]. It is safe to call at every start, by many
// processes at once.
func New(ctx context.Context, db *sql.DB, engine Engine, statements Statements, opts ...Option) (*Ledger, error) {
	if db == nil {
		return nil, errNoDatabase
	}
	o, err := newOptions(db, opts)
	if err != nil {
		return nil, err
	}
	writer, reader := DBTX(db), DBTX(o.reader)
	var writes *kept
	if engine.Prepared {
		writes = keepPrepared(db, engine)
		writer, reader = writes.alone(), keepPrepared(o.reader, engine).alone()
	}
	var unnamed any
	if engine.Pooled {
		asking := &core{Engine: engine, Limit: o.limit}
		err := asking.Retry(ctx, "settings", func(ctx context.Context, _ int) (err error) {
			unnamed, err = nameless(ctx, db)
			return err
		})
		if err != nil {
			return nil, err
		}
		lost := new(sqlcore.LostNames)
		writer, reader = spelled{writer, engine, lost, unnamed}, spelled{reader, engine, lost, unnamed}
	}
	writer = announced{writer}
	l := &Ledger{db: db, unnamed: unnamed, core: &core{
		Writer: writer, Reader: reader, Statements: statements, Engine: engine, Limit: o.limit,
		Exec: func(ctx context.Context, statement string) error {
			_, err := db.ExecContext(ctx, statement)
			return err
		},
	}}
	l.Doubted.Store(o.replicated)
	if err := l.checkBefore(ctx, o); err != nil {
		return nil, err
	}
	if err := l.CheckSchema(ctx, o.managed); err != nil {
		return nil, err
	}
	if !engine.OneWriter {
		if err := l.CheckGrants(ctx, l.undone); err != nil {
			return nil, err
		}
	}
	if err := l.checkAfter(ctx, o); err != nil {
		return nil, err
	}
	if engine.OneWriter {
		limited, cancel := context.WithTimeout(ctx, o.limit)
		defer cancel()
		if inWAL(limited, o.reader) {
			l.Reader = reading{reader}
		}
		if !o.apart {
			l.shareCommits(writes)
		}
	}
	return l, nil
}

var errNoDatabase = errors.New("idemgen: nil database")

func newOptions(db *sql.DB, opts []Option) (options, error) {
	o := options{reader: db, limit: sqlcore.DefaultLimit}
	for _, opt := range opts {
		if err := opt(&o); err != nil {
			return o, err
		}
	}
	return o, nil
}
