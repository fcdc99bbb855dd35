package sqlledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"

	"github.com/idemgen/idemgen/runtime/internal/sqlcore"
)

// spelled runs statements with their arguments in the text, always or while
// prepared statements get lost. They are then sent without a name, by the simple
// protocol or in one round trip, so that no other session need know them.
type spelled struct {
	DBTX
	engine  sqlcore.Engine
	lost    *sqlcore.LostNames // nil: always
	unnamed any                // goes before a query: see nameless
}

func (s spelled) write(query string, args []any) (string, []any, error) {
	if s.lost != nil && !s.lost.Lately() {
		return query, args, nil
	}
	text, err := spell(query, args)
	return text, nil, err
}

// ask is write for what returns rows.
func (s spelled) ask(query string, args []any) (string, []any, error) {
	if s.lost != nil && !s.lost.Lately() {
		return query, args, nil
	}
	text, err := spell(query, args)
	if s.unnamed == nil {
		return text, nil, err
	}
	return text, []any{s.unnamed}, err
}

func (s spelled) learn(ctx context.Context, err error) {
	if s.lost != nil && err != nil {
		s.lost.Learn(ctx, s.engine, err)
	}
}

// ExecContext implements [DBTX].
func (s spelled) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	query, args, err := s.write(query, args)
	if err != nil {
		return nil, err
	}
	result, err := s.DBTX.ExecContext(ctx, query, args...)
	s.learn(ctx, err)
	return result, err
}

// QueryContext implements [DBTX].
func (s spelled) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	query, args, err := s.ask(query, args)
	if err != nil {
		return nil, err
	}
	rows, err := s.DBTX.QueryContext(ctx, query, args...)
	s.learn(ctx, err)
	return rows, err
}

// QueryRowContext implements [DBTX].
func (s spelled) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	text, rest, err := s.ask(query, args)
	if err != nil {
		text, rest = query, args // what we cannot spell the driver may
	}
	row := s.DBTX.QueryRowContext(ctx, text, rest...)
	s.learn(ctx, row.Err())
	return row
}

var placeholder = regexp.MustCompile(`\$[0-9]+`)

// spell puts arguments in the places of $1, $2 and so on. Whatever they hold is
// digits in the text, so that none can be read as SQL, in any session.
func spell(query string, args []any) (string, error) {
	var failed error
	text := placeholder.ReplaceAllStringFunc(query, func(place string) string {
		n, err := strconv.Atoi(place[1:])
		if err != nil || n < 1 || n > len(args) {
			failed = fmt.Errorf("idemgen: a statement has %s and %d arguments", place, len(args))
			return place
		}
		arg, err := literal(args[n-1])
		if err != nil {
			failed = err
		}
		return arg
	})
	return text, failed
}

func literal(arg any) (string, error) {
	if with, ok := arg.(driver.Valuer); ok {
		value, err := with.Value()
		if err != nil {
			return "", err
		}
		arg = value
	}
	switch v := arg.(type) {
	case string:
		return "pg_catalog.convert_from(pg_catalog.decode('" + hex.EncodeToString([]byte(v)) + "', 'hex'), 'UTF8')", nil
	case []byte:
		if v == nil {
			return "NULL", nil
		}
		return "pg_catalog.decode('" + hex.EncodeToString(v) + "', 'hex')", nil
	case int64:
		return "(" + strconv.FormatInt(v, 10) + ")", nil
	case int32:
		return "(" + strconv.FormatInt(int64(v), 10) + ")", nil
	}
	return "", fmt.Errorf("idemgen: a statement has an argument of type %T", arg)
}
