package servers

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// Postgres is a PostgreSQL server on a unix socket in a folder of its own. Who
// connects gives a password that is made for the run.
type Postgres struct {
	folder   string
	password string
	binary   string
	settings []string
	process  *process
}

var postgresFolders = []string{"/usr/lib/postgresql/*/bin"}

// StartPostgres creates a cluster and starts it, with settings such as
// "work_mem=1MB". Call Stop at the end. Its files are in memory where there is enough.
func StartPostgres(settings ...string) (*Postgres, error) {
	return startPostgres(inMemory(), append([]string{"max_wal_size=256MB"}, settings...))
}

// StartPostgresOnDisk is StartPostgres for who measures what a commit costs.
func StartPostgresOnDisk(settings ...string) (*Postgres, error) { return startPostgres("", settings) }

func startPostgres(under string, settings []string) (_ *Postgres, err error) {
	initdb, err := install("initdb", postgresFolders, "postgresql")
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(under, "postgres-")
	if err != nil {
		return nil, err
	}
	s := &Postgres{folder: folder, password: newPassword(), settings: settings, binary: filepath.Join(filepath.Dir(initdb), "postgres")}
	defer func() {
		if err != nil {
			s.Stop()
		}
	}()
	for _, dir := range []string{s.folder, s.data(), s.Socket()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		if err := own("postgres", dir); err != nil {
			return nil, err
		}
	}
	if err := writeSecret("postgres", s.passwordFile(), s.password); err != nil {
		return nil, err
	}
	if err := run("postgres", initdb, "-D", s.data(), "-U", "postgres", "-A", "scram-sha-256", "--pwfile="+s.passwordFile(), "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"); err != nil {
		return nil, err
	}
	return s, s.Start()
}

func (s *Postgres) data() string         { return filepath.Join(s.folder, "data") }
func (s *Postgres) passwordFile() string { return filepath.Join(s.folder, "password") }

// Socket is the folder of the server's socket; its port is 5432.
func (s *Postgres) Socket() string { return filepath.Join(s.folder, "socket") }

// Start starts the server again after it was killed.
func (s *Postgres) Start() (err error) {
	arguments := []string{"-D", s.data(),
		"-c", "listen_addresses=", "-c", "unix_socket_directories=" + s.Socket(), "-c", "max_connections=700",
		"-c", "log_min_messages=fatal",
		// After a crash one call makes sure of the files, instead of one for each.
		"-c", "recovery_init_sync_method=syncfs"}
	for _, setting := range s.settings {
		arguments = append(arguments, "-c", setting)
	}
	s.process, err = begin("postgres", s.binary, arguments...)
	if err != nil {
		return err
	}
	return s.process.await(func() error {
		conn, err := pgx.Connect(context.Background(), s.DSN("postgres"))
		if err != nil {
			return err
		}
		return conn.Close(context.Background())
	})
}

// Kill ends the server and all its connections as a crash would.
func (s *Postgres) Kill() { s.process.signal(syscall.SIGKILL) }

// Stop ends the server and removes its folder.
func (s *Postgres) Stop() {
	if s.process != nil {
		s.process.signal(syscall.SIGINT)
	}
	os.RemoveAll(s.folder)
}

// DSN is the connection string of a database. Options are further words of it,
// as in "timezone=Asia/Tokyo".
func (s *Postgres) DSN(database string, options ...string) string {
	return postgresDSN(s.Socket(), 5432, s.password, database, options)
}

// URL is DSN as a URL. It holds the password: give it to another process by its
// environment, since everybody can read arguments.
func (s *Postgres) URL(database string) string {
	return (&url.URL{
		Scheme: "postgres", User: url.UserPassword("postgres", s.password), Path: "/" + database,
		RawQuery: url.Values{"host": {s.Socket()}, "sslmode": {"disable"}}.Encode(),
	}).String()
}

// Through is DSN by way of a proxy.
func (s *Postgres) Through(p *Proxy, database string, options ...string) string {
	host, port, _ := net.SplitHostPort(p.Address())
	number, _ := strconv.Atoi(port)
	return postgresDSN(host, number, s.password, database, append(options, "sslmode=disable"))
}

func postgresDSN(host string, port int, password, database string, options []string) string {
	dsn := fmt.Sprintf("host=%s port=%d user=postgres password=%s dbname=%s", host, port, password, database)
	for _, option := range options {
		dsn += " " + option
	}
	return dsn
}

// Create creates an empty database. Settings are defaults of its sessions, as
// in "timezone TO 'Asia/Tokyo'".
func (s *Postgres) Create(database string, settings ...string) error {
	name := pgx.Identifier{database}.Sanitize()
	statements := []string{"CREATE DATABASE " + name}
	for _, setting := range settings {
		statements = append(statements, "ALTER DATABASE "+name+" SET "+setting)
	}
	return s.Run("postgres", statements...)
}

// Drop drops a database, and ends its sessions.
func (s *Postgres) Drop(database string) error {
	return s.Run("postgres", "DROP DATABASE "+pgx.Identifier{database}.Sanitize()+" WITH (FORCE)")
}

// Run runs statements in a database.
func (s *Postgres) Run(database string, statements ...string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, s.DSN(database))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}
