package faults

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/idemgen/idemgen/internal/e2e/servers"
)

const postgresServers = 3

// postgresSite starts a PostgreSQL and describes servers that share it, each
// behind a proxy of its own.
func postgresSite(ctx context.Context, r *Report, binary, payments string, extra []string) (_ *site, err error) {
	postgres, err := servers.StartPostgres()
	if err != nil {
		return nil, err
	}
	s := &site{name: "postgres", report: r, stop: postgres.Stop, heal: func() error { return nil }}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	if err := postgres.Create("checkout"); err != nil {
		return nil, err
	}
	if s.db, err = sql.Open("pgx", postgres.DSN("checkout")); err != nil {
		return nil, err
	}
	for i := range postgresServers {
		bridge, err := servers.StartProxy("unix", filepath.Join(postgres.Socket(), ".s.PGSQL.5432"))
		if err != nil {
			return nil, err
		}
		dsn := url.URL{Scheme: "postgres", User: url.User("postgres"), Host: bridge.Address(), Path: "/checkout", RawQuery: "sslmode=disable&connect_timeout=2"}
		s.nodes = append(s.nodes, &node{
			name: fmt.Sprintf("postgres server %d", i+1), binary: binary, report: r,
			args: append([]string{"-db", dsn.String(), "-payments", payments}, extra...),
		})
	}
	s.attacks = []attack{{500 * time.Millisecond, s.killServer}}
	return s, nil
}
