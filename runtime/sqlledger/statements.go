package sqlledger

import (
	"context"
	"database/sql"

	"github.com/idemgen/idemgen/runtime/internal/sqlcore"
)

// DBTX is what a statement runs on: a database, a connection or a transaction.
type DBTX interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
	PrepareContext(context.Context, string) (*sql.Stmt, error)
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// Statements are the statements of an emitted ledger. The parameters and rows
// have the fields that sqlc gives them, so that the emitted code converts
// between the two, and does not compile when they drift apart. A statement
// whose condition does not hold returns sql.ErrNoRows or 0 rows.
type Statements = sqlcore.Statements[DBTX]

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

// Engine is a database that a ledger works with.
type Engine = sqlcore.Engine

// The engines.
var (
	EngineSQLite   = sqlcore.SQLite
	EnginePostgres = sqlcore.Postgres
)
