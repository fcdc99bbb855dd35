package bench_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	postgresledger "github.com/idemgen/idemgen/example/orders/ledger/postgres"
	"github.com/idemgen/idemgen/prove/servers"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// largest is how many rows the largest table has. The whole story is told with
// -growth=10000000, which takes some gigabytes and minutes.
var largest = flag.Int("growth", 1_000_000, "rows of the largest table of BenchmarkGrowth")

// growing is a table that grows between measurements.
type growing struct {
	db     *sql.DB
	ledger *sqlledger.Ledger
	rows   int
}

// BenchmarkGrowth measures claims and replays while a table grows from ten
// thousand rows, then after a day of it was swept. It reports medians, their
// ratios to those of ten thousand rows, and what the table weighs.
func BenchmarkGrowth(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) {
		db, err := sqlledger.OpenSQLite("sqlite", b.TempDir()+"/ledger.db")
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		growth(b, &growing{db: db.Writer, ledger: openSQLiteOn(b, db)}, min(*largest, 1_000_000),
			`WITH RECURSIVE n (i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO idempotency_keys SELECT
  'alice', '', 'k' || i, 'POST /v1/orders', '1 raw content-type', randomblob(32), 'completed', 1, randomblob(16),
  t, t + 30000, t + 86400000, t + 86400000, t + 86400000, '', x'', 201, x'00', randomblob(300), t
FROM n, (SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS t) WHERE true`,
			`SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size), 0`,
			`UPDATE idempotency_keys SET expires_at = expires_at - 172800000, gone_at = gone_at - 172800000, sweep_at = sweep_at - 172800000`)
	})
	b.Run("postgres", func(b *testing.B) {
		server, err := servers.StartPostgres("fsync=on")
		if err != nil {
			b.Fatal(err)
		}
		defer server.Stop()
		if err := server.Create("growth"); err != nil {
			b.Fatal(err)
		}
		db, err := sql.Open("pgx", server.DSN("growth"))
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		ledger, err := postgresledger.Open(context.Background(), db)
		if err != nil {
			b.Fatal(err)
		}
		growth(b, &growing{db: db, ledger: ledger}, *largest,
			`INSERT INTO idempotency_keys (principal, scope, key, operation, policy, fingerprint, status, generation, owner,
  claimed_at, lease_until, expires_at, gone_at, sweep_at, response_status, response_headers, response_body, created_at)
SELECT 'alice', '', convert_to('k' || i, 'UTF8'), 'POST /v1/orders', '1 raw content-type', sha256(convert_to(i::text, 'UTF8')), 'completed', 1,
  decode(md5(i::text), 'hex'), t, t + 30000, t + 86400000, t + 86400000, t + 86400000, 201, '\x00', sha256(convert_to(i::text, 'UTF8')), t
FROM generate_series(%d, %d) AS i, (SELECT floor(extract(epoch FROM now()) * 1000)::bigint AS t) AS clock`,
			`SELECT pg_total_relation_size('idempotency_keys'), (SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'idempotency_keys')`,
			`UPDATE idempotency_keys SET expires_at = expires_at - 172800000, gone_at = gone_at - 172800000, sweep_at = sweep_at - 172800000`)
	})
}

// growth fills a table step by step and measures at each. fill takes the first
// and the last number of new rows, weigh gives bytes and dead rows, age moves
// all rows two days back.
func growth(b *testing.B, g *growing, rows int, fill, weigh, age string) {
	var first map[string]time.Duration
	for size := 10_000; size <= rows; size *= 10 {
		if size == 100_000 {
			continue
		}
		g.exec(b, fmt.Sprintf(fill, g.rows, size-1))
		g.rows = size
		medians := g.measure(b)
		if first == nil {
			first = medians
		}
		b.Run(fmt.Sprintf("rows=%d", size), func(b *testing.B) { g.report(b, medians, first, weigh) })
	}

	g.exec(b, age)
	swept, start := 0, time.Now()
	for {
		n, err := g.ledger.Sweep(context.Background(), 1000)
		if err != nil {
			b.Fatal(err)
		}
		if swept += n; n == 0 {
			break
		}
	}
	took := time.Since(start)
	medians := g.measure(b)
	b.Run("swept", func(b *testing.B) {
		g.report(b, medians, first, weigh)
		b.ReportMetric(float64(swept)/took.Seconds(), "rows-swept/s")
	})
}

func (g *growing) exec(b *testing.B, statement string) {
	b.Helper()
	if _, err := g.db.Exec(statement); err != nil {
		b.Fatal(err)
	}
}

// measure gives the median times of a claim of a new key, and of a read of an
// old one, each one alone.
func (g *growing) measure(b *testing.B) map[string]time.Duration {
	b.Helper()
	const times = 2000
	claims, reads := make([]time.Duration, times), make([]time.Duration, times)
	for i := range times {
		c := runtime.Claim{
			ID:        runtime.ID{Principal: "alice", Key: rand.Text()},
			Terms:     runtime.Terms{Lease: 30 * time.Second, Retain: 24 * time.Hour},
			Operation: "POST /v1/orders", Policy: "1 raw content-type",
		}
		rand.Read(c.Owner[:])
		start := time.Now()
		if _, won, err := g.ledger.Insert(context.Background(), c); err != nil || !won {
			b.Fatal(won, err)
		}
		claims[i] = time.Since(start)

		id := runtime.ID{Principal: "alice", Key: "k" + strconv.Itoa(i*(g.rows/times))}
		start = time.Now()
		if _, _, err := g.ledger.Read(context.Background(), id); err != nil {
			b.Fatal(err)
		}
		reads[i] = time.Since(start)
	}
	return map[string]time.Duration{"claim": median(claims), "read": median(reads)}
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// report gives what was measured as the metrics of a benchmark, whose own time
// says nothing.
func (g *growing) report(b *testing.B, medians, first map[string]time.Duration, weigh string) {
	for b.Loop() { // what is reported was measured before
	}
	var size, dead int64
	if err := g.db.QueryRow(weigh).Scan(&size, &dead); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(0, "ns/op")
	for name, d := range medians {
		b.ReportMetric(float64(d.Microseconds()), name+"-p50-us")
		b.ReportMetric(float64(d)/float64(first[name]), name+"-ratio")
	}
	b.ReportMetric(float64(size)/1e6, "MB")
	b.ReportMetric(float64(dead), "dead-rows")
}
