package sqlledger

import (
	"context"
	"database/sql"
	"sync"
)

// kept runs each statement through one that was prepared when it was first
// met: SQLite would parse it every time otherwise, which costs more than to
// run it. A ledger has few statements, so that none is ever dropped; they are
// closed with what they were prepared on. It is safe for concurrent use.
type kept struct {
	on DBTX // a database or a transaction

	mu         sync.Mutex
	statements map[string]*sql.Stmt
}

func keepPrepared(on DBTX) *kept {
	return &kept{on: on, statements: map[string]*sql.Stmt{}}
}

// statement returns the prepared statement of a text, or nil where it cannot be
// prepared: then the text itself is to be run, whose error tells why.
func (p *kept) statement(ctx context.Context, query string) *sql.Stmt {
	p.mu.Lock()
	s := p.statements[query]
	p.mu.Unlock()
	if s != nil {
		return s
	}
	s, err := p.on.PrepareContext(ctx, query)
	if err != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if first := p.statements[query]; first != nil {
		s.Close()
		return first
	}
	p.statements[query] = s
	return s
}

// ExecContext implements [DBTX].
func (p *kept) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if s := p.statement(ctx, query); s != nil {
		return s.ExecContext(ctx, args...)
	}
	return p.on.ExecContext(ctx, query, args...)
}

// QueryContext implements [DBTX].
func (p *kept) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if s := p.statement(ctx, query); s != nil {
		return s.QueryContext(ctx, args...)
	}
	return p.on.QueryContext(ctx, query, args...)
}

// QueryRowContext implements [DBTX].
func (p *kept) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if s := p.statement(ctx, query); s != nil {
		return s.QueryRowContext(ctx, args...)
	}
	return p.on.QueryRowContext(ctx, query, args...)
}

// PrepareContext implements [DBTX].
func (p *kept) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return p.on.PrepareContext(ctx, query)
}
