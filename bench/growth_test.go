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

// largest is how many rows the largest table has. The whole story is told by
// ten million, which take some gigabytes and minutes: make bench-scale.
var largest = flag.Int("growth", 1_000_000, "rows of the largest table of BenchmarkGrowth")

// growing is a table that grows between measurements.
type growing struct {
	db     *sql.DB
	ledger *sqlledger.Ledger
	rows   int
}

// BenchmarkGrowth measures claims and reads while a table grows from ten
// thousand rows, and after a sweep of all of it. Each is measured in turns with
// one on a table that stays at ten thousand rows, so that the ratio of the two
// medians holds on a machine that drifts.
func BenchmarkGrowth(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) {
		open := func() *growing {
			db, err := sqlledger.OpenSQLite("sqlite", b.TempDir()+"/ledger.db")
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { db.Close() })
			return &growing{db: db.Writer, ledger: openSQLiteOn(b, db)}
		}
		growth(b, open(), open(), min(*largest, 1_000_000),
			`WITH RECURSIVE n (i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO idempotency_keys SELECT
  'alice', '', 'k' || i, 'POST /v1/orders', '1 raw content-type', randomblob(32), 'completed', 1, randomblob(16),
  t - 90000000, t - 89970000, t - 60000, t - 60000, t - 60000, '', x'', 201, x'00', randomblob(300), t - 90000000
FROM n, (SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS t) WHERE true`,
			`SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size), 0`)
	})
	b.Run("postgres", func(b *testing.B) {
		server, err := servers.StartPostgresOnDisk("max_wal_size=8GB")
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(server.Stop)
		open := func(name string) *growing {
			if err := server.Create(name); err != nil {
				b.Fatal(err)
			}
			db, err := sql.Open("pgx", server.DSN(name))
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { db.Close() })
			ledger, err := postgresledger.Open(context.Background(), db)
			if err != nil {
				b.Fatal(err)
			}
			return &growing{db: db, ledger: ledger}
		}
		growth(b, open("small"), open("growing"), *largest,
			`INSERT INTO idempotency_keys (principal, scope, key, operation, policy, fingerprint, status, generation, owner,
  claimed_at, lease_until, expires_at, gone_at, sweep_at, response_status, response_headers, response_body, created_at)
SELECT 'alice', '', convert_to('k' || i, 'UTF8'), 'POST /v1/orders', '1 raw content-type', sha256(convert_to(i::text, 'UTF8')), 'completed', 1,
  decode(md5(i::text), 'hex'), t - 90000000, t - 89970000, t - 60000, t - 60000, t - 60000, 201, '\x00', sha256(convert_to(i::text, 'UTF8')), t - 90000000
FROM generate_series(%d, %d) AS i, (SELECT floor(extract(epoch FROM now()) * 1000)::bigint AS t) AS clock`,
			`SELECT pg_total_relation_size('idempotency_keys'), (SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'idempotency_keys')`)
	})
}

// growth fills a table step by step with rows whose retention is over, measures
// at each, and sweeps it at the end. fill takes the first and the last number of
// new rows, weigh gives bytes and dead rows.
func growth(b *testing.B, small, g *growing, rows int, fill, weigh string) {
	for size := 10_000; size <= rows; size *= 10 {
		if size == 100_000 {
			continue
		}
		if size == 10_000 {
			small.grow(b, fill, size)
		}
		g.grow(b, fill, size)
		measured := measure(b, small, g)
		b.Run(fmt.Sprintf("rows=%d", size), func(b *testing.B) { g.report(b, measured, weigh) })
	}

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
	measured := measure(b, small, g)
	b.Run("swept", func(b *testing.B) {
		g.report(b, measured, weigh)
		b.ReportMetric(float64(swept)/took.Seconds(), "rows-swept/s")
	})
}

func (g *growing) grow(b *testing.B, fill string, size int) {
	b.Helper()
	if _, err := g.db.Exec(fmt.Sprintf(fill, g.rows, size-1)); err != nil {
		b.Fatal(err)
	}
	g.rows = size
}

// latencies are medians, and their ratios to those of the small table.
type latencies struct{ claim, read, claimRatio, readRatio float64 }

// measure takes turns on both tables: a claim of a new key, and a read of an old
// one, each one alone.
func measure(b *testing.B, small, g *growing) latencies {
	b.Helper()
	const times = 3000
	var claims, reads [2][]time.Duration
	for i := range times {
		for at, table := range []*growing{small, g} {
			claim, read := table.once(b, i*(table.rows/times))
			claims[at], reads[at] = append(claims[at], claim), append(reads[at], read)
		}
	}
	claim, read := median(claims[1]), median(reads[1])
	return latencies{claim, read, claim / median(claims[0]), read / median(reads[0])}
}

func (g *growing) once(b *testing.B, old int) (claim, read time.Duration) {
	b.Helper()
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
	claim = time.Since(start)

	start = time.Now()
	if _, _, err := g.ledger.Read(context.Background(), runtime.ID{Principal: "alice", Key: "k" + strconv.Itoa(old)}); err != nil {
		b.Fatal(err)
	}
	return claim, time.Since(start)
}

// median is in microseconds.
func median(times []time.Duration) float64 {
	slices.Sort(times)
	return float64(times[len(times)/2].Nanoseconds()) / 1e3
}

// report gives what was measured as the metrics of a benchmark, whose own time
// says nothing.
func (g *growing) report(b *testing.B, l latencies, weigh string) {
	for b.Loop() { // what is reported was measured before
	}
	var size, dead int64
	if err := g.db.QueryRow(weigh).Scan(&size, &dead); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(l.claim, "claim-p50-us")
	b.ReportMetric(l.claimRatio, "claim-ratio")
	b.ReportMetric(l.read, "read-p50-us")
	b.ReportMetric(l.readRatio, "read-ratio")
	b.ReportMetric(float64(size)/1e6, "MB")
	b.ReportMetric(float64(dead), "dead-rows")
}
