package sqlledger_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// file is a driver of one file. It keeps what the reads of rows were asked with.
type file struct {
	mode  string
	ended []bool // whether the context of a read could end
	args  []driver.Value
}

func (f *file) Driver() driver.Driver                        { return f }
func (f *file) Open(string) (driver.Conn, error)             { return f, nil }
func (f *file) Connect(context.Context) (driver.Conn, error) { return f, nil }
func (f *file) Close() error                                 { return nil }
func (f *file) Begin() (driver.Tx, error)                    { return nil, errors.ErrUnsupported }
func (f *file) Prepare(query string) (driver.Stmt, error)    { return &fileStmt{f, query}, nil }

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
	s.ended = append(s.ended, ctx.Done() != nil)
	for _, arg := range args {
		s.args = append(s.args, arg.Value)
	}
	return &fileRows{}, nil
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

// A read may be left while it waits for a connection. Once it has one, its
// context cannot end where readers wait for nobody, which spares the driver to
// watch it, and only there.
func TestReadsAreLeftWhileTheyWaitForAConnection(t *testing.T) {
	for mode, endless := range map[string]bool{"wal": true, "delete": false} {
		synctest.Test(t, func(t *testing.T) {
			f := &file{mode: mode}
			db := sql.OpenDB(f)
			defer db.Close()
			db.SetMaxOpenConns(1)
			l, err := sqlledger.New(t.Context(), db, sqlledger.EngineSQLite, &statements{
				read: func(ctx context.Context, db sqlledger.DBTX) (row sqlledger.ReadRow, err error) {
					return row, db.QueryRowContext(ctx, "SELECT", "alice", int64(7)).Scan(&row.Status)
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			left := make(chan error)
			go func() {
				_, _, err := l.Read(ctx, claimOf("owner").ID)
				left <- err
			}()
			synctest.Wait()
			cancel()
			if err := <-left; !errors.Is(err, context.Canceled) || !errors.Is(err, runtime.ErrUnavailable) {
				t.Errorf("%s: a read that was left says %v", mode, err)
			}
			conn.Close()
			if _, found, err := l.Read(t.Context(), claimOf("owner").ID); found || err != nil {
				t.Errorf("%s: Read = %v, %v", mode, found, err)
			}
			if !slices.Equal(f.ended, []bool{!endless}) || !slices.Equal(f.args, []driver.Value{"alice", int64(7)}) {
				t.Errorf("%s: the driver was asked with %v, under contexts that can end: %v", mode, f.args, f.ended)
			}
		})
	}
}
