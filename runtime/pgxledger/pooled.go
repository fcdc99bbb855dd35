package pgxledger

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemgen/idemgen/runtime/internal/sqlcore"
)

// pooled runs statements on a connection of a pool, like the pool itself, and
// tells what a statement met from what kept it from being sent.
type pooled struct{ *pgxpool.Pool }

// acquire takes a connection.
func (p pooled) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	conn, err := p.Acquire(ctx)
	if err != nil {
		return nil, sqlcore.ConnectError{Err: err}
	}
	sqlcore.Sent(ctx)
	return conn, nil
}

// Exec implements [DBTX].
func (p pooled) Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error) {
	conn, err := p.acquire(ctx)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	defer conn.Release()
	return conn.Exec(ctx, query, args...)
}

// QueryRow implements [DBTX].
func (p pooled) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	conn, err := p.acquire(ctx)
	if err != nil {
		return failedRow{err}
	}
	return lentRow{conn.QueryRow(ctx, query, args...), conn}
}

// lentRow gives its connection back when it is read.
type lentRow struct {
	pgx.Row
	conn *pgxpool.Conn
}

// Scan implements [pgx.Row].
func (r lentRow) Scan(dest ...any) error {
	defer r.conn.Release()
	return r.Row.Scan(dest...)
}

type failedRow struct{ err error }

// Scan implements [pgx.Row].
func (r failedRow) Scan(...any) error { return r.err }
