package bench_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemgen/idemgen/internal/e2e/postgres/emitted/native"
	"github.com/idemgen/idemgen/prove/servers"
	"github.com/idemgen/idemgen/runtime/pgxledger"
)

// postgres is a server whose commits are durable, and a pool on it.
type postgres struct {
	pool       *pgxpool.Pool
	admin      *pgx.Conn    // on another database, so that it is not counted
	statements atomic.Int64 // sent through the pool
	own        float64      // those of count
}

// startPostgres starts the server when it is first needed.
var startPostgres = sync.OnceValues(func() (*postgres, error) {
	ctx, p := context.Background(), &postgres{}
	server, err := servers.StartPostgresOnDisk()
	if err != nil {
		return nil, err
	}
	stops = append(stops, server.Stop)
	if err := server.Create("bench"); err != nil {
		return nil, err
	}
	if p.admin, err = pgx.Connect(ctx, server.DSN("postgres")); err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(server.DSN("bench"))
	if err != nil {
		return nil, err
	}
	config.MaxConns, config.MinConns = poolSize, poolSize
	// A ping before the use of a connection that was idle for a second would be
	// counted, and would fall on whoever is measured after a pause.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	config.ConnConfig.Tracer = statementCounter{&p.statements}
	if p.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	_, err = p.pool.Exec(ctx, `CREATE TABLE bare (key BYTEA PRIMARY KEY, fingerprint BYTEA, status TEXT, code BIGINT, body BYTEA)`)
	return p, err
})

func openPostgres(b *testing.B, share bool) store {
	b.Helper()
	p, err := startPostgres()
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	l, err := native.Open(ctx, p.pool, pgxledger.WithSharedCommits(share))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := p.pool.Exec(ctx, "TRUNCATE idempotency_keys, bare"); err != nil {
		b.Fatal(err)
	}
	if err := p.onEach(ctx, "SELECT 1"); err != nil {
		b.Fatal(err)
	}
	return store{
		ledger: l,
		claim: func(key string) error {
			_, err := p.pool.Exec(ctx, `INSERT INTO bare (key, fingerprint, status) VALUES ($1, $2, 'pending') ON CONFLICT DO NOTHING`, []byte(key), fingerprint)
			return err
		},
		complete: func(key string) error {
			_, err := p.pool.Exec(ctx, `UPDATE bare SET status = 'completed', code = $2, body = $3 WHERE key = $1 AND status = 'pending'`, []byte(key), answer.Status, answer.Body)
			return err
		},
		read: func(key string) error {
			var code int
			var print, body []byte
			return p.pool.QueryRow(ctx, `SELECT fingerprint, code, body FROM bare WHERE key = $1`, []byte(key)).Scan(&print, &code, &body)
		},
		count: func() counts {
			c, err := p.count(ctx)
			if err != nil {
				b.Fatal(err)
			}
			return c
		},
	}
}

// onEach runs a statement on every connection of the pool.
func (p *postgres) onEach(ctx context.Context, statement string) error {
	for range poolSize {
		conn, err := p.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// count asks the server for commits (reads count as such, too) and for bytes
// of WAL, less what the counting itself costs. Sessions report what they did
// now and then only, unless they are told to and have touched a table.
func (p *postgres) count(ctx context.Context) (counts, error) {
	if err := p.onEach(ctx, "SELECT pg_stat_force_next_flush(), (SELECT version FROM idempotency_keys_schema)"); err != nil {
		return nil, err
	}
	p.own += poolSize
	var commits, wal float64
	err := p.admin.QueryRow(ctx, `SELECT xact_commit::float8, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8
FROM pg_stat_database WHERE datname = 'bench'`).Scan(&commits, &wal)
	return counts{"commits": commits - p.own, "statements": float64(p.statements.Load()) - p.own, "wal-B": wal}, err
}

// statementCounter counts what pgx sends.
type statementCounter struct{ n *atomic.Int64 }

func (c statementCounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}

func (statementCounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (c statementCounter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, batch pgx.TraceBatchStartData) context.Context {
	c.n.Add(int64(batch.Batch.Len()))
	return ctx
}

func (statementCounter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (statementCounter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
