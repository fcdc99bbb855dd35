// Package ledgers_test runs the conformance suite on real databases.
package ledgers_test

import (
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"
	_ "modernc.org/sqlite"

	"github.com/idemgen/idemgen/internal/e2e/ledgers/emitted/plain"
	"github.com/idemgen/idemgen/internal/e2e/ledgers/emitted/qualified"
	"github.com/idemgen/idemgen/internal/e2e/ledgers/harness"
	"github.com/idemgen/idemgen/runtime/ledgertest"
	"github.com/idemgen/idemgen/runtime/memory"
)

// The names under which the drivers register.
const (
	modernc = "sqlite"
	mattn   = "sqlite3"
)

// Data source names with which a plain database waits for locks.
func moderncDSN(file string) string {
	return "file:" + file + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)"
}

func mattnDSN(file string) string {
	return "file:" + file + "?_busy_timeout=5000&_journal_mode=WAL&_synchronous=FULL"
}

func TestMemory(t *testing.T) {
	ledgertest.Run(t, func(*testing.T) ledgertest.Harness {
		var age time.Duration
		start := time.Now()
		return ledgertest.Harness{
			Ledger: memory.New(memory.WithClock(func() time.Time { return start.Add(age) })),
			Age:    func(d time.Duration) { age += d },
		}
	})
}

func TestModernc(t *testing.T) { run(t, modernc, moderncDSN) }

func TestMattn(t *testing.T) { run(t, mattn, mattnDSN) }

// A table that is named with the schema that every database has. This is a
// matter of SQL, so one driver is enough: the fastest under the race detector.
func TestSchemaMain(t *testing.T) {
	harness.Run(t, "main.keys", qualified.Open, func(t *testing.T, file string) harness.Pools {
		return harness.File(t, mattn, file)
	})
}

// Without shared commits, which are the default in all other runs.
func TestApart(t *testing.T) {
	harness.Run(t, "idempotency_keys", plain.Open, func(t *testing.T, file string) harness.Pools {
		pools := harness.File(t, mattn, file)
		pools.Apart = true
		return pools
	})
}

func run(t *testing.T, driverName string, dsn func(file string) string) {
	t.Run("WriterAndReaders", func(t *testing.T) {
		harness.Run(t, "idempotency_keys", plain.Open, func(t *testing.T, file string) harness.Pools {
			return harness.File(t, driverName, file)
		})
	})
	t.Run("OnePool", func(t *testing.T) {
		harness.Run(t, "idempotency_keys", plain.Open, func(t *testing.T, file string) harness.Pools {
			return harness.Plain(t, driverName, dsn(file), 0)
		})
	})
	t.Run("OneConnection", func(t *testing.T) {
		harness.Run(t, "idempotency_keys", plain.Open, func(t *testing.T, file string) harness.Pools {
			return harness.Plain(t, driverName, dsn(file), 1)
		})
	})
}
