package sqlledger_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/internal/sqlcore"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// statements are statements whose results a test scripts. What it does not
// script must not be called.
type statements struct {
	sqlledger.Statements
	insert   func(context.Context, sqlledger.DBTX) (sqlledger.Claimed, error)
	takeOver func(context.Context) (sqlledger.Claimed, error)
	read     func(context.Context, sqlledger.DBTX) (sqlledger.ReadRow, error)
	complete func(context.Context) (int64, error)
	release  func(context.Context) (int64, error)
	due      func(sqlledger.DBTX) (int64, error)
	drop     func(maxRows int64) (int64, error)
	remove   func(maxRows int64) (int64, error)
	version  func() (int64, error)
	schema   []string
	unsent   bool // as if there were no connection
}

func (s *statements) send(ctx context.Context) {
	if !s.unsent {
		sqlcore.Sent(ctx)
	}
}

func (s *statements) Insert(ctx context.Context, db sqlledger.DBTX, _ sqlledger.InsertParams) (sqlledger.Claimed, error) {
	s.send(ctx)
	return s.insert(ctx, db)
}

func (s *statements) TakeOver(ctx context.Context, _ sqlledger.DBTX, _ sqlledger.TakeOverParams) (sqlledger.Claimed, error) {
	s.send(ctx)
	return s.takeOver(ctx)
}

func (s *statements) Read(ctx context.Context, db sqlledger.DBTX, p sqlledger.ReadParams) (sqlledger.ReadRow, error) {
	if p == (sqlledger.ReadParams{}) {
		return sqlledger.ReadRow{}, sql.ErrNoRows // a start's look at the table
	}
	return s.read(ctx, db)
}

func (s *statements) Complete(ctx context.Context, _ sqlledger.DBTX, _ sqlledger.CompleteParams) (int64, error) {
	s.send(ctx)
	return s.complete(ctx)
}

func (s *statements) Release(ctx context.Context, _ sqlledger.DBTX, _ sqlledger.FenceParams) (int64, error) {
	return s.release(ctx)
}

func (s *statements) SweepDue(_ context.Context, db sqlledger.DBTX) (int64, error) { return s.due(db) }

func (s *statements) SweepDrop(_ context.Context, _ sqlledger.DBTX, p sqlledger.SweepParams) (int64, error) {
	return s.drop(p.MaxRows)
}

func (s *statements) SweepDelete(_ context.Context, _ sqlledger.DBTX, p sqlledger.SweepParams) (int64, error) {
	return s.remove(p.MaxRows)
}

func (s *statements) SchemaVersion(context.Context, sqlledger.DBTX) (int64, error) {
	if s.version == nil {
		return 1, nil
	}
	return s.version()
}

func (s *statements) Schema() []string { return s.schema }

// open returns a ledger on scripted statements.
func open(t *testing.T, s *statements, opts ...sqlledger.Option) *sqlledger.Ledger {
	t.Helper()
	l, err := sqlledger.New(t.Context(), stubDB(t, &stub{}), sqlledger.EngineSQLite, s, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// stub is a driver that runs nothing, and tells what it was asked to run.
type stub struct {
	executed []string
	err      error  // of every statement
	mode     string // the journal mode
	tx       driver.Tx
}

func stubDB(t *testing.T, s *stub) *sql.DB {
	db := sql.OpenDB(s)
	t.Cleanup(func() { db.Close() })
	return db
}

func (s *stub) Driver() driver.Driver                        { return s }
func (s *stub) Open(string) (driver.Conn, error)             { return s, nil }
func (s *stub) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (s *stub) Close() error                                 { return nil }

func (s *stub) Begin() (driver.Tx, error) {
	if s.tx == nil {
		return nil, errors.New("stub: no transactions")
	}
	return s.tx, nil
}

func (s *stub) Prepare(query string) (driver.Stmt, error) { return &stubStmt{s, query}, nil }

func (s *stub) PrepareContext(_ context.Context, query string) (driver.Stmt, error) {
	return s.Prepare(query)
}

type stubStmt struct {
	*stub
	query string
}

func (s *stubStmt) NumInput() int { return 0 }

func (s *stubStmt) Exec([]driver.Value) (driver.Result, error) {
	s.executed = append(s.executed, s.query)
	return driver.RowsAffected(0), s.err
}

func (s *stubStmt) Query([]driver.Value) (driver.Rows, error) {
	if strings.Contains(s.query, "pragma_database_list") {
		return &stubRows{read: true}, nil // a start's look at the files
	}
	s.executed = append(s.executed, s.query)
	return &stubRows{mode: s.mode}, s.err
}

func (s *stubStmt) QueryContext(context.Context, []driver.NamedValue) (driver.Rows, error) {
	return s.Query(nil)
}

type stubRows struct {
	mode string
	read bool
}

func (r *stubRows) Columns() []string { return []string{"journal_mode"} }
func (r *stubRows) Close() error      { return nil }

func (r *stubRows) Next(values []driver.Value) error {
	if r.read {
		return io.EOF
	}
	r.read = true
	values[0] = r.mode
	return nil
}

// The errors of SQLite's drivers, as they say them.
var (
	errBusy  = errors.New("database is locked (5) (SQLITE_BUSY)")
	errFinal = errors.New("constraint failed: CHECK constraint failed: length(owner) = 16 (275)")
	errDown  = errors.New("sqlite3: disk I/O error")
)

func claimOf(owner string) runtime.Claim {
	c := runtime.Claim{ID: runtime.ID{Principal: "alice", Key: "k"}, Operation: "POST /orders", Policy: "1 raw"}
	c.Terms = runtime.Terms{Lease: time.Minute, Retain: time.Hour}
	copy(c.Owner[:], owner)
	return c
}

// rowOf is a pending row of a claim.
func rowOf(c runtime.Claim) sqlledger.ReadRow {
	return sqlledger.ReadRow{
		Operation: c.Operation, Policy: c.Policy, Fingerprint: c.Fingerprint[:], Status: "pending",
		Generation: 2, Owner: c.Owner[:], ClaimedAt: 1000, LeaseUntil: 61_000, ExpiresAt: 3_661_000, GoneAt: 3_661_000, Now: 1500,
	}
}
