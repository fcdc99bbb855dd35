package sqlledger

import (
	"context"
	"database/sql"
	"slices"
	"sync"

	"github.com/idemgen/idemgen/runtime/internal/sqlcore"
)

// byText runs statements through those that find has, and what it has not as
// text, whose error tells why.
type byText struct {
	DBTX
	find func(ctx context.Context, query string) *sql.Stmt // nil where it cannot be prepared
	// unprepared tells that a statement could not be prepared on this connection.
	unprepared func(error) bool
}

// ExecContext implements [DBTX].
func (p byText) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if s := p.find(ctx, query); s != nil {
		if result, err := s.ExecContext(ctx, args...); !p.unprepared(err) {
			return result, err
		}
	}
	return p.DBTX.ExecContext(ctx, query, args...)
}

// QueryContext implements [DBTX].
func (p byText) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if s := p.find(ctx, query); s != nil {
		if rows, err := s.QueryContext(ctx, args...); !p.unprepared(err) {
			return rows, err
		}
	}
	return p.DBTX.QueryContext(ctx, query, args...)
}

// QueryRowContext implements [DBTX].
func (p byText) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if s := p.find(ctx, query); s != nil {
		if row := s.QueryRowContext(ctx, args...); !p.unprepared(row.Err()) {
			return row
		}
	}
	return p.DBTX.QueryRowContext(ctx, query, args...)
}

// kept are the statements of a database, each prepared when it was first met:
// SQLite would parse it every time otherwise, which costs more than to run it.
// A ledger has few statements, so that none is ever dropped; they are closed
// with the database. It is safe for concurrent use.
type kept struct {
	db         *sql.DB
	unprepared func(error) bool

	mu         sync.Mutex
	statements map[string]*sql.Stmt
	missed     []string // what transactions had to prepare for themselves
}

func keepPrepared(db *sql.DB, engine Engine) *kept {
	return &kept{
		db: db, statements: map[string]*sql.Stmt{},
		unprepared: func(err error) bool { return engine.Is(err, sqlcore.Unprepared) },
	}
}

// alone runs statements by themselves.
func (k *kept) alone() DBTX { return byText{k.db, k.statement, k.unprepared} }

func (k *kept) statement(ctx context.Context, query string) *sql.Stmt {
	k.mu.Lock()
	s := k.statements[query]
	k.mu.Unlock()
	if s != nil {
		return s
	}
	s, err := k.db.PrepareContext(ctx, query)
	if err != nil {
		return nil
	}
	k.mu.Lock()
	first := k.statements[query]
	if first == nil {
		k.statements[query] = s
	}
	k.mu.Unlock()
	if first == nil {
		return s
	}
	s.Close()
	return first
}

// in runs statements in a transaction, one after another. What was never met
// is prepared for the transaction alone: it has a connection, perhaps the only
// one, and must not wait for another.
func (k *kept) in(tx *sql.Tx) DBTX {
	own := map[string]*sql.Stmt{}
	return byText{tx, func(ctx context.Context, query string) *sql.Stmt {
		if s := own[query]; s != nil {
			return s
		}
		k.mu.Lock()
		s := k.statements[query]
		if s == nil && !slices.Contains(k.missed, query) {
			k.missed = append(k.missed, query)
		}
		k.mu.Unlock()
		if s != nil {
			s = tx.StmtContext(ctx, s)
		} else {
			s, _ = tx.PrepareContext(ctx, query)
		}
		own[query] = s
		return s
	}, k.unprepared}
}

// prepareMissed prepares what transactions have missed, for the next one.
func (k *kept) prepareMissed(ctx context.Context) {
	k.mu.Lock()
	missed := k.missed
	k.missed = nil
	k.mu.Unlock()
	for _, query := range missed {
		k.statement(ctx, query)
	}
}
