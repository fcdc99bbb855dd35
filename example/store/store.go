// Package store opens the shop's database, of whichever kind, and the ledger in
// it.
package store

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"strings"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/idemgen/idemgen/example/orders"
	mysqlledger "github.com/idemgen/idemgen/example/orders/ledger/mysql"
	postgresledger "github.com/idemgen/idemgen/example/orders/ledger/postgres"
	sqliteledger "github.com/idemgen/idemgen/example/orders/ledger/sqlite"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// Store is an open database.
type Store struct {
	Writer  *sql.DB
	Reader  *sql.DB
	Dialect orders.Dialect
	Keys    *sqlledger.Ledger
}

// Connections is how many connections the shop opens to a server.
const Connections = 16

// Name is the database that a flag names, else that of the environment's
// DATABASE_URL, else another. A URL with a password belongs into the environment:
// everybody can read the arguments of a process.
func Name(flag, otherwise string) string {
	if flag != "" {
		return flag
	}
	if name := os.Getenv("DATABASE_URL"); name != "" {
		return name
	}
	return otherwise
}

// Open opens a database by its name: postgres://user@host/name,
// mysql://user@host/name, or the path of an SQLite file. The options are the
// ledger's.
func Open(ctx context.Context, name string, options ...sqlledger.Option) (*Store, error) {
	switch scheme, _, isURL := strings.Cut(name, "://"); {
	case !isURL:
		return openSQLite(ctx, name, options)
	case scheme == "postgres", scheme == "postgresql":
		return openPostgres(ctx, name, options)
	case scheme == "mysql":
		return openMySQL(ctx, name, options)
	}
	return nil, errors.New("the database's URL begins with postgres:// or mysql://")
}

// Close closes the database.
func (s *Store) Close() error {
	err := s.Writer.Close()
	if s.Reader == s.Writer {
		return err
	}
	if e := s.Reader.Close(); err == nil {
		err = e
	}
	return err
}

func openSQLite(ctx context.Context, file string, options []sqlledger.Option) (*Store, error) {
	db, err := sqlledger.OpenSQLite("sqlite", file)
	if err != nil {
		return nil, err
	}
	keys, err := sqliteledger.Open(ctx, db.Writer, append(options, sqlledger.WithReader(db.Reader))...)
	if err != nil {
		db.Close()
		return nil, err
	}
	return &Store{Writer: db.Writer, Reader: db.Reader, Dialect: orders.SQLite, Keys: keys}, nil
}

func openPostgres(ctx context.Context, name string, options []sqlledger.Option) (*Store, error) {
	db, err := sql.Open("pgx", name)
	if err != nil {
		return nil, err
	}
	limit(db)
	keys, err := postgresledger.Open(ctx, db, options...)
	if err != nil {
		db.Close()
		return nil, err
	}
	return &Store{Writer: db, Reader: db, Dialect: orders.Postgres, Keys: keys}, nil
}

func openMySQL(ctx context.Context, name string, options []sqlledger.Option) (*Store, error) {
	config, err := mysqlConfig(name)
	if err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	limit(db)
	keys, err := mysqlledger.Open(ctx, db, options...)
	if err != nil {
		db.Close()
		return nil, err
	}
	return &Store{Writer: db, Reader: db, Dialect: orders.MySQL, Keys: keys}, nil
}

// mysqlConfig reads a URL, which the driver itself does not take. A socket is
// given as mysql://user@/name?socket=/path.
func mysqlConfig(name string) (*mysql.Config, error) {
	u, err := url.Parse(name)
	if err != nil {
		// The cause would quote it, password and all.
		return nil, errors.New("the database's URL cannot be read: it is mysql://user:password@host/name, and what is special in a password is percent-encoded")
	}
	config := mysql.NewConfig()
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.DBName = strings.TrimPrefix(u.Path, "/")
	if socket := u.Query().Get("socket"); socket != "" {
		config.Net, config.Addr = "unix", socket
		return config, nil
	}
	config.Net, config.Addr = "tcp", u.Host
	if u.Port() == "" {
		config.Addr += ":3306"
	}
	return config, nil
}

// limit bounds the connections, and keeps them: a busy shop would open and
// close them all the time.
func limit(db *sql.DB) {
	db.SetMaxOpenConns(Connections)
	db.SetMaxIdleConns(Connections)
}
