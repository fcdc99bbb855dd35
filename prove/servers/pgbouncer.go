package servers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// PgBouncer is a pooler in transaction mode in front of a PostgreSQL server.
type PgBouncer struct {
	folder   string
	password string // the server's
	process  *process
}

const pgbouncerPort = 6432

// StartPgBouncer starts a pooler with that many connections to each database
// of a server. Call Stop before the server's.
func StartPgBouncer(server *Postgres, connections int) (_ *PgBouncer, err error) {
	binary, err := install("pgbouncer", []string{"/usr/sbin", "/usr/bin"}, "pgbouncer")
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "pgbouncer-")
	if err != nil {
		return nil, err
	}
	s := &PgBouncer{folder: folder, password: server.password}
	defer func() {
		if err != nil {
			s.Stop()
		}
	}()
	config, users := filepath.Join(folder, "pgbouncer.ini"), filepath.Join(folder, "users")
	if err := writeSecret("postgres", users, fmt.Sprintf("\"postgres\" \"%s\"\n", server.password)); err != nil {
		return nil, err
	}
	if err := os.WriteFile(config, fmt.Appendf(nil, `[databases]
* = host=%s port=5432

[pgbouncer]
listen_addr =
listen_port = %d
unix_socket_dir = %s
auth_type = scram-sha-256
auth_file = %s
pool_mode = transaction
default_pool_size = %d
max_client_conn = 1000
`, server.Socket(), pgbouncerPort, folder, users, connections), 0o600); err != nil {
		return nil, err
	}
	for _, path := range []string{folder, config} {
		if err := own("postgres", path); err != nil {
			return nil, err
		}
	}
	if s.process, err = begin("postgres", binary, config); err != nil {
		return nil, err
	}
	return s, s.process.await(func() error {
		conn, err := pgx.Connect(context.Background(), s.DSN("postgres"))
		if err != nil {
			return err
		}
		return conn.Close(context.Background())
	})
}

// DSN is the connection string of a database behind the pooler.
func (s *PgBouncer) DSN(database string, options ...string) string {
	return postgresDSN(s.folder, pgbouncerPort, s.password, database, options)
}

// Stop ends the pooler.
func (s *PgBouncer) Stop() {
	if s.process != nil {
		s.process.signal(syscall.SIGKILL)
	}
	os.RemoveAll(s.folder)
}
