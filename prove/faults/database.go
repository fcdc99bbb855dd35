package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/idemgen/idemgen/prove/servers"
)

// Database is what the servers of a target share.
type Database struct {
	DB *sql.DB // past all proxies
	// Network and Address are where it listens; "" for a file.
	Network, Address string
	// Name is its name for servers, by way of an address.
	Name func(address string) string
	// Commit is the text of a COMMIT on the wire.
	Commit string
	// Restart kills it and starts it again; nil: it is left alone.
	Restart func() error
	// Fill takes all room that it has, and Free gives it back; nil: its disk
	// is left alone.
	Fill, Free func() error
	Pace       Pace
	LeftOut    []string

	// secret says that its name holds a password.
	secret  bool
	closers []func()
}

// Pace is how often servers are attacked: enough to be in the way all the time,
// and seldom enough for work to be done.
type Pace struct{ kill, pause, crowd time.Duration }

var (
	serverPace = Pace{800 * time.Millisecond, 3 * time.Second, 4 * time.Second}
	filePace   = Pace{500 * time.Millisecond, 5 * time.Second, 6 * time.Second}
)

// OpenDatabase opens a database by its URL, or starts one: "sqlite", "postgres"
// or "mysql". What has neither form is the path of an SQLite file. Call Close
// at the end.
func OpenDatabase(name, folder string) (*Database, error) {
	d := &Database{Pace: serverPace}
	err := d.open(name, folder)
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Close closes it, and stops what was started.
func (d *Database) Close() {
	for i := len(d.closers) - 1; i >= 0; i-- {
		d.closers[i]()
	}
}

func (d *Database) open(name, folder string) error {
	switch name {
	case "sqlite":
		return d.newDisk(folder)
	case "postgres":
		return d.startPostgres()
	case "mysql":
		return d.startMariaDB()
	}
	scheme, _, isURL := strings.Cut(name, "://")
	if !isURL {
		return d.openFile(name)
	}
	u, err := url.Parse(name)
	if err != nil {
		return errors.New("the database's URL cannot be read") // the cause would quote it, password and all
	}
	if _, d.secret = u.User.Password(); !d.secret {
		d.secret = u.Query().Has("password")
	}
	d.LeftOut = append(d.LeftOut, "the database killed and started")
	switch scheme {
	case "postgres", "postgresql":
		return d.openPostgres(u)
	case "mysql":
		return d.openMySQL(u)
	}
	return fmt.Errorf("there is no database %s: want postgres, mysql, or an SQLite file", scheme)
}

func (d *Database) use(driver, dsn string) (err error) {
	if d.DB, err = sql.Open(driver, dsn); err != nil {
		return err
	}
	d.closers = append(d.closers, func() { d.DB.Close() })
	return d.DB.Ping()
}

const ownName = "prove" // of databases that are created

func (d *Database) startPostgres() error {
	p, err := servers.StartPostgres()
	if err != nil {
		return err
	}
	d.closers = append(d.closers, p.Stop)
	d.secret = true
	if err := p.Create(ownName); err != nil {
		return err
	}
	d.Restart = func() error {
		p.Kill()
		return again(p.Start)
	}
	u, err := url.Parse(p.URL(ownName))
	if err != nil {
		return err
	}
	u.RawQuery += "&connect_timeout=2"
	return d.openPostgres(u)
}

// again calls a function until it succeeds: a server that was killed starts
// again when the last of its processes has noticed.
func again(f func() error) (err error) {
	for range 100 {
		if err = f(); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

func (d *Database) openPostgres(u *url.URL) error {
	d.Commit = "commit" // as pgx says it
	d.Network, d.Address = "tcp", address(u, "5432")
	query := u.Query()
	if socket := query.Get("host"); strings.HasPrefix(socket, "/") {
		d.Network, d.Address = "unix", filepath.Join(socket, ".s.PGSQL.5432")
		query.Del("host")
	}
	d.Name = func(address string) string {
		proxied := *u
		proxied.Host, proxied.RawQuery = address, query.Encode()
		return proxied.String()
	}
	return d.use("pgx", u.String())
}

func (d *Database) startMariaDB() error {
	m, err := servers.StartMariaDB()
	if err != nil {
		return err
	}
	d.closers = append(d.closers, m.Stop)
	d.secret = true
	if err := m.Create(ownName); err != nil {
		return err
	}
	d.Restart = func() error {
		m.Kill()
		return again(m.Start)
	}
	u, err := url.Parse(m.URL(m.Address(), ownName))
	if err != nil {
		return err
	}
	return d.openMySQL(u)
}

func (d *Database) openMySQL(u *url.URL) error {
	d.Commit = "COMMIT"
	d.Network, d.Address = "tcp", address(u, "3306")
	d.Name = func(address string) string {
		proxied := *u
		proxied.Host = address
		return proxied.String()
	}
	config := mysql.NewConfig()
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.Net, config.Addr, config.DBName = d.Network, d.Address, strings.TrimPrefix(u.Path, "/")
	return d.use("mysql", config.FormatDSN())
}

// address is the host and port of a URL.
func address(u *url.URL, port string) string {
	if u.Port() != "" {
		port = u.Port()
	}
	host := u.Hostname()
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

func (d *Database) openFile(file string) error {
	d.Pace = filePace
	d.Name = func(string) string { return file }
	d.Commit = "commit"
	// A file that is not there is created by the first server.
	return d.use("sqlite", file+"?_pragma=busy_timeout(1000)")
}

// restartDatabase ends the database as a crash would.
func (s *site) restartDatabase(context.Context, *rand.Rand) {
	s.lives.Add(1)
	if err := s.target.Database.Restart(); err != nil {
		s.report.broken(fmt.Errorf("restart the database: %w", err))
		return
	}
	s.lives.Add(1)
	s.attacked("database killed and started", 1)
}

// fillDisk leaves a database no room for a while.
func (s *site) fillDisk(ctx context.Context, random *rand.Rand) {
	// An empty log has to grow at the next commit. Servers may be in the way of
	// emptying it, and then it is the next but some.
	s.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	if err := s.target.Database.Fill(); err != nil {
		s.report.broken(fmt.Errorf("fill the disk: %w", err))
		return
	}
	sleep(ctx, 100*time.Millisecond+time.Duration(random.Int64N(int64(1500*time.Millisecond))))
	if err := s.target.Database.Free(); err != nil {
		s.report.broken(fmt.Errorf("free the disk: %w", err))
	}
	s.attacked("disk full", 1)
}
