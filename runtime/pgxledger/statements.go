package pgxledger

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/idemgen/idemgen/runtime/internal/sqlcore"
)

// DBTX is what a statement runs on: a pool, a connection or a transaction.
type DBTX interface {
	Exec(context.Context, string, ...any) (pgconn.CommandTag, error)
	Query(context.Context, string, ...any) (pgx.Rows, error)
	QueryRow(context.Context, string, ...any) pgx.Row
}

// Statements are the statements of an emitted ledger. A statement whose
// condition does not hold returns pgx.ErrNoRows or 0 rows.
type Statements interface {
	sqlcore.Statements[DBTX]
	InsertFirst(context.Context, DBTX, InsertParams) (Claimed, error)
	together
}

// together are statements for batches.
type together interface {
	Together(context.Context, DBTX) (now int64, err error)
	InsertTogether(context.Context, DBTX, InsertParams) (int64, error)
	CompleteTogether(context.Context, DBTX, CompleteParams) (int64, error)
}

// Parameters and rows of [Statements].
type (
	Claimed          = sqlcore.Claimed
	InsertParams     = sqlcore.InsertParams
	InsertOnceParams = sqlcore.InsertOnceParams
	InsertOnceRow    = sqlcore.InsertOnceRow
	ReadParams       = sqlcore.ReadParams
	ReadRow          = sqlcore.ReadRow
	TakeOverParams   = sqlcore.TakeOverParams
	ReuseParams      = sqlcore.ReuseParams
	RenewParams      = sqlcore.RenewParams
	CompleteParams   = sqlcore.CompleteParams
	FenceParams      = sqlcore.FenceParams
	SweepParams      = sqlcore.SweepParams
	CountsRow        = sqlcore.CountsRow
	EraseParams      = sqlcore.EraseParams
)

// SplitSchema splits an emitted schema into its statements.
func SplitSchema(schema string) []string { return sqlcore.SplitSchema(schema) }

// unprepared runs statements without preparing them under a name, once it has
// been learned, or is known, that a name may not be there: behind a pooler in
// transaction mode, the next transaction meets another session.
type unprepared struct {
	DBTX
	learned *atomic.Bool
}

func (u unprepared) args(args []any) []any {
	if !u.learned.Load() {
		return args
	}
	return append([]any{pgx.QueryExecModeExec}, args...)
}

// Exec implements [DBTX].
func (u unprepared) Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error) {
	return u.DBTX.Exec(ctx, query, u.args(args)...)
}

// Query implements [DBTX].
func (u unprepared) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	return u.DBTX.Query(ctx, query, u.args(args)...)
}

// QueryRow implements [DBTX].
func (u unprepared) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	return u.DBTX.QueryRow(ctx, query, u.args(args)...)
}

// learning is the engine, which learns from the errors of prepared statements.
// They are raised before a statement runs, so that it may simply be sent again.
func learning(learned *atomic.Bool) sqlcore.Engine {
	engine := sqlcore.Postgres
	class := engine.Class
	engine.Class = func(err error) sqlcore.Class {
		is := class(err)
		if is == sqlcore.Unprepared {
			learned.Store(true)
		}
		return is
	}
	return engine
}
