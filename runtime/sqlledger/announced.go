package sqlledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"slices"

	"github.com/idemgen/idemgen/runtime/internal/sqlcore"
)

// announced runs statements that tell when they have a connection: the first
// argument is converted then, and not before.
type announced struct{ DBTX }

// ExecContext implements [DBTX].
func (a announced) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return a.DBTX.ExecContext(ctx, query, arrivingArgs(ctx, args)...)
}

// QueryRowContext implements [DBTX].
func (a announced) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return a.DBTX.QueryRowContext(ctx, query, arrivingArgs(ctx, args)...)
}

func arrivingArgs(ctx context.Context, args []any) []any {
	if len(args) == 0 {
		return args
	}
	args = slices.Clone(args)
	args[0] = arriving{args[0], ctx}
	return args
}

// arriving is an argument of a statement that has a connection once it is
// converted.
type arriving struct {
	value any
	ctx   context.Context
}

// Value implements [driver.Valuer].
func (a arriving) Value() (driver.Value, error) {
	sqlcore.Sent(a.ctx)
	return driver.DefaultParameterConverter.ConvertValue(a.value)
}
