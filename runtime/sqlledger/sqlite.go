package sqlledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// SQLite is a SQLite file, opened the way a ledger needs it: WAL, every commit
// synced, one writer, and readers that no writer blocks. The service's own
// tables may live in the same file and use the same two pools.
type SQLite struct {
	// Writer has one connection: SQLite has one writer at a time, and a queue
	// in the process is fairer than one of busy files.
	Writer *sql.DB
	// Reader has several connections that cannot write.
	Reader *sql.DB
}

const (
	sqliteReaders     = 8
	sqliteBusyTimeout = 5 * time.Second
	setUpAttempts     = 30
)

// OpenSQLite opens a file through a driver that has been registered under
// driverName, with a data source name of that driver's form. The settings are
// made by statements on each new connection, so that every driver will do
// (modernc.org/sqlite, mattn/go-sqlite3 and ncruces/go-sqlite3 are tested).
// Databases in memory are refused: each connection would have its own. A file
// that is not there yet is made for its owner alone, see [WithFileMode].
func OpenSQLite(driverName, dsn string, opts ...SQLiteOption) (*SQLite, error) {
	o := sqliteOptions{mode: 0o600}
	for _, opt := range opts {
		if err := opt(&o); err != nil {
			return nil, err
		}
	}
	if dsn == "" || strings.Contains(dsn, ":memory:") || strings.Contains(dsn, "mode=memory") {
		file, _, _ := strings.Cut(dsn, "?") // a password may follow
		return nil, fmt.Errorf("idemgen: OpenSQLite: %q is not a file: a ledger in memory would be another one for each connection", file)
	}
	connector, err := connectorOf(driverName, dsn)
	if err != nil {
		return nil, fmt.Errorf("idemgen: OpenSQLite: %w", err)
	}
	file, _ := fileOf(dsn)
	if err := createFile(file, o.mode); err != nil {
		return nil, fmt.Errorf("idemgen: OpenSQLite: %w", err)
	}
	common := []string{
		fmt.Sprintf("PRAGMA busy_timeout = %d", sqliteBusyTimeout.Milliseconds()),
		"PRAGMA journal_mode = WAL",
		"PRAGMA synchronous = FULL",
		"PRAGMA schema_version", // a read, so that the files beside the file are there
	}
	db := &SQLite{
		Writer: sql.OpenDB(&setUp{connector, file, common}),
		Reader: sql.OpenDB(&setUp{connector, file, append(common[:len(common):len(common)], "PRAGMA query_only = 1")}),
	}
	db.Writer.SetMaxOpenConns(1)
	db.Reader.SetMaxOpenConns(sqliteReaders)
	db.Reader.SetMaxIdleConns(sqliteReaders)
	var mode string
	if err := db.Writer.QueryRow("PRAGMA journal_mode").Scan(&mode); err == nil && mode != "wal" {
		err = fmt.Errorf("its journal mode is %q and cannot be WAL", mode)
		return nil, errors.Join(fmt.Errorf("idemgen: OpenSQLite: %w", err), db.Close())
	} else if err != nil {
		return nil, errors.Join(fmt.Errorf("idemgen: OpenSQLite: %w", err), db.Close())
	}
	return db, nil
}

// Close closes both pools.
func (db *SQLite) Close() error { return errors.Join(db.Reader.Close(), db.Writer.Close()) }

// connectorOf is what sql.Open would use.
func connectorOf(driverName, dsn string) (driver.Connector, error) {
	db, err := sql.Open(driverName, dsn)
	if err != nil {
		return nil, err
	}
	d := db.Driver()
	if err := db.Close(); err != nil {
		return nil, err
	}
	if with, ok := d.(driver.DriverContext); ok {
		return with.OpenConnector(dsn)
	}
	return plainConnector{d, dsn}, nil
}

// plainConnector connects through drivers without connectors of their own.
type plainConnector struct {
	driver driver.Driver
	dsn    string
}

func (c plainConnector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c plainConnector) Driver() driver.Driver                        { return c.driver }

// setUp runs statements on each new connection.
type setUp struct {
	driver.Connector
	file       string // "" where it is not known
	statements []string
}

// Connect implements driver.Connector.
func (c *setUp) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for _, statement := range c.statements {
		if err := runOn(ctx, conn, statement); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", statement, err), conn.Close())
		}
	}
	if err := alikeFiles(c.file); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// runOn runs a statement to its end, also when it returns rows. Two processes
// that switch one file to WAL at once are told "locked" without a wait.
func runOn(ctx context.Context, conn driver.Conn, statement string) error {
	for attempt := 1; ; attempt++ {
		err := tryOn(ctx, conn, statement)
		if err == nil || !EngineSQLite.Passing(err) || attempt == setUpAttempts {
			return err
		}
		select {
		case <-time.After(time.Millisecond << min(attempt, 7)):
		case <-ctx.Done():
			return err
		}
	}
}

func tryOn(ctx context.Context, conn driver.Conn, statement string) (err error) {
	var prepared driver.Stmt
	if with, ok := conn.(driver.ConnPrepareContext); ok {
		prepared, err = with.PrepareContext(ctx, statement)
	} else {
		prepared, err = conn.Prepare(statement)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, prepared.Close()) }()
	query, ok := prepared.(driver.StmtQueryContext)
	if !ok {
		return errors.New("the driver has no statements with a context")
	}
	rows, err := query.QueryContext(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	values := make([]driver.Value, len(rows.Columns()))
	for {
		switch err := rows.Next(values); err {
		case nil:
		case io.EOF:
			return nil
		default:
			return err
		}
	}
}
