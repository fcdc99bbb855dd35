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

// Statements are the statements of an emitted ledger. The parameters and rows
// have the fields that sqlc gives them, so that the emitted code converts
// between the two, and does not compile when they drift apart. A statement
// whose condition does not hold returns pgx.ErrNoRows or 0 rows.
type Statements = sqlcore.Statements[DBTX]

// Parameters and rows of [Statements].
type (
	Claimed        = sqlcore.Claimed
	InsertParams   = sqlcore.InsertParams
	ReadParams     = sqlcore.ReadParams
	ReadRow        = sqlcore.ReadRow
	TakeOverParams = sqlcore.TakeOverParams
	ReuseParams    = sqlcore.ReuseParams
	RenewParams    = sqlcore.RenewParams
	CompleteParams = sqlcore.CompleteParams
	FenceParams    = sqlcore.FenceParams
	SweepParams    = sqlcore.SweepParams
	CountsRow      = sqlcore.CountsRow
	EraseParams    = sqlcore.EraseParams
)

// SplitSchema splits an emitted schema into its statements.
func SplitSchema(schema string) []string { return sqlcore.SplitSchema(schema) }
