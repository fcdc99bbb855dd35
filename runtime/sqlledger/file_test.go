package sqlledger_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
)

// file is a driver of one file that holds nothing. It keeps what it was asked,
// except by a start's look at the files.
type file struct {
	mode     string
	prepared []string
	ended    []bool // whether the context of a statement could end
	args     []driver.Value
}

func (f *file) Driver() driver.Driver                        { return f }
func (f *file) Open(string) (driver.Conn, error)             { return f, nil }
func (f *file) Connect(context.Context) (driver.Conn, error) { return f, nil }
func (f *file) Close() error                                 { return nil }
func (f *file) Begin() (driver.Tx, error)                    { return fileTx{}, nil }

func (f *file) Prepare(query string) (driver.Stmt, error) {
	f.prepared = append(f.prepared, query)
	return &fileStmt{f, query}, nil
}

type fileTx struct{}

func (fileTx) Commit() error   { return nil }
func (fileTx) Rollback() error { return nil }

type fileStmt struct {
	*file
	query string
}

func (s *fileStmt) NumInput() int                                  { return -1 }
func (s *fileStmt) Exec([]driver.Value) (driver.Result, error)     { return nil, errors.ErrUnsupported }
func (s *fileStmt) Query(args []driver.Value) (driver.Rows, error) { return nil, errors.ErrUnsupported }

func (s *fileStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	switch {
	case strings.Contains(s.query, "pragma_database_list"):
		return &fileRows{"main"}, nil
	case s.query == `PRAGMA "main".journal_mode`:
		return &fileRows{s.mode}, nil
	}
	s.asked(ctx, args)
	return &fileRows{}, nil
}

func (s *fileStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	s.asked(ctx, args)
	return driver.RowsAffected(1), nil
}

func (f *file) asked(ctx context.Context, args []driver.NamedValue) {
	f.ended = append(f.ended, ctx.Done() != nil)
	for _, arg := range args {
		f.args = append(f.args, arg.Value)
	}
}

// fileRows is one row of one text, or none where there is no text.
type fileRows struct{ text string }

func (r *fileRows) Columns() []string { return []string{"text"} }
func (r *fileRows) Close() error      { return nil }

func (r *fileRows) Next(values []driver.Value) error {
	if r.text == "" {
		return io.EOF
	}
	values[0], r.text = r.text, ""
	return nil
}
