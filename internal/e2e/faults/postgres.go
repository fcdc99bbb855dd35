package faults

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/idemgen/idemgen/internal/e2e/servers"
)

// postgresSite starts a PostgreSQL and describes servers that share it, each
// behind proxies of its own. There is one for each binary.
func postgresSite(r *record, binaries []string, payments *line) (_ *site, err error) {
	s := &site{name: "postgres", report: r}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	postgres, err := servers.StartPostgres()
	if err != nil {
		return nil, err
	}
	s.onStop(postgres.Stop)
	if err := postgres.Create("checkout"); err != nil {
		return nil, err
	}
	if s.db, err = sql.Open("pgx", postgres.DSN("checkout")); err != nil {
		return nil, err
	}
	s.onStop(func() { s.db.Close() })
	var lines []*line
	for i, binary := range binaries {
		l, err := newLine("unix", filepath.Join(postgres.Socket(), ".s.PGSQL.5432"))
		if err != nil {
			return nil, err
		}
		s.onStop(l.stop)
		lines = append(lines, l)
		dsn := url.URL{Scheme: "postgres", User: url.User("postgres"), Host: l.address(), Path: "/checkout", RawQuery: "sslmode=disable&connect_timeout=2"}
		s.nodes = append(s.nodes, &node{
			name: fmt.Sprintf("postgres server %d", i+1), binary: binary, report: r, unstored: &s.unstored,
			args: []string{"-db", dsn.String(), "-payments", "http://" + payments.address()},
		})
	}

	var restarts atomic.Int64
	restart := func(context.Context, *rand.Rand) {
		restarts.Add(1)
		if err := restartPostgres(postgres); err != nil {
			r.broken(fmt.Errorf("restart PostgreSQL: %w", err))
			return
		}
		restarts.Add(1)
		s.attacked("database killed and started", 1)
	}
	s.mend = func() error { return nil }
	s.attacks = []attack{
		{800 * time.Millisecond, s.killServer},
		{3 * time.Second, s.pauseServer},
		{4 * time.Second, s.exhaustPool},
		{10 * time.Second, restart},
		{4 * time.Second, func(ctx context.Context, random *rand.Rand) {
			s.harmLine(ctx, random, payments, "the payment service", nil)
		}},
	}
	for i, l := range lines {
		lives := func() int64 { return int64(s.nodes[i].life()) + restarts.Load() }
		s.attacks = append(s.attacks,
			attack{200 * time.Millisecond, func(ctx context.Context, random *rand.Rand) { s.harmLine(ctx, random, l, "the database", lives) }},
			attack{200 * time.Millisecond, func(ctx context.Context, random *rand.Rand) { s.harmCommits(ctx, random, l) }})
	}
	return s, nil
}

// restartPostgres kills the server as a crash would. It starts again when the
// last of its processes has noticed.
func restartPostgres(p *servers.Postgres) (err error) {
	p.Kill()
	for range 100 {
		if err = p.Start(); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}
