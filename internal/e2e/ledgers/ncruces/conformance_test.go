// Package ncruces_test runs the conformance suite through ncruces/go-sqlite3,
// which registers under the same name as mattn/go-sqlite3.
package ncruces_test

import (
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver"

	"github.com/idemgen/idemgen/internal/e2e/ledgers/emitted/plain"
	"github.com/idemgen/idemgen/internal/e2e/ledgers/harness"
)

func TestConformance(t *testing.T) {
	t.Run("WriterAndReaders", func(t *testing.T) {
		harness.Run(t, "idempotency_keys", plain.Open, func(t *testing.T, file string) harness.Pools {
			return harness.File(t, "sqlite3", "file:"+file)
		})
	})
	t.Run("OnePool", func(t *testing.T) {
		harness.Run(t, "idempotency_keys", plain.Open, func(t *testing.T, file string) harness.Pools {
			return harness.Plain(t, "sqlite3", "file:"+file+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)", 0)
		})
	})
	t.Run("OneConnection", func(t *testing.T) {
		harness.Run(t, "idempotency_keys", plain.Open, func(t *testing.T, file string) harness.Pools {
			return harness.Plain(t, "sqlite3", "file:"+file+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)", 1)
		})
	})
}
