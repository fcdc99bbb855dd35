package pgxledger

import (
	"context"

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
	ListParams       = sqlcore.ListParams
	ListRow          = sqlcore.ListRow
	KeptParams       = sqlcore.KeptParams
)

// SplitSchema splits an emitted schema into its statements.
func SplitSchema(schema string) []string { return sqlcore.SplitSchema(schema) }

// unprepared runs statements without preparing them under a name, once it has
// been learned, or is known, that a name may not be there: behind a pooler in
// transaction mode, the next transaction meets another session.
type unprepared struct {
	DBTX
	lost *sqlcore.LostNames // nil: it is known
}

func (u unprepared) args(args []any) []any {
	if u.lost != nil && !u.lost.Lately() {
		return args
	}
	return append([]any{pgx.QueryExecModeExec}, args...)
}

// Exec implements [DBTX].
func (u unprepared) Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error) {
	tag, err := u.DBTX.Exec(ctx, query, u.args(args)...)
	u.learn(ctx, err)
	return tag, err
}

// Query implements [DBTX].
func (u unprepared) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	rows, err := u.DBTX.Query(ctx, query, u.args(args)...)
	u.learn(ctx, err)
	return rows, err
}

// QueryRow implements [DBTX].
func (u unprepared) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	return learningRow{u.DBTX.QueryRow(ctx, query, u.args(args)...), ctx, u}
}

// learn learns from the error of a statement of ours, and not of a handler's.
func (u unprepared) learn(ctx context.Context, err error) {
	if u.lost != nil && err != nil {
		u.lost.Learn(ctx, sqlcore.Postgres, err)
	}
}

// learningRow learns from the error of its statement, which Scan tells.
type learningRow struct {
	pgx.Row
	ctx context.Context
	of  unprepared
}

// Scan implements [pgx.Row].
func (r learningRow) Scan(dest ...any) error {
	err := r.Row.Scan(dest...)
	r.of.learn(r.ctx, err)
	return err
}
