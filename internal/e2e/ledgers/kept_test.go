package ledgers_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/idemgen/idemgen/internal/e2e/ledgers/emitted/plain"
	"github.com/idemgen/idemgen/internal/e2e/ledgers/harness"
	"github.com/idemgen/idemgen/internal/e2e/rig"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/memory"
)

func TestCallersKeep(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		var age time.Duration
		start := time.Now()
		rig.CallersKeep(t, memory.New(memory.WithClock(func() time.Time { return start.Add(age) })), func(d time.Duration) { age += d }, nil)
	})
	for _, driverName := range []string{modernc, mattn} {
		t.Run(driverName, func(t *testing.T) {
			p := harness.File(t, driverName, filepath.Join(t.TempDir(), "ledger.db"))
			l, err := plain.Open(t.Context(), p.Writer)
			if err != nil {
				t.Fatal(err)
			}
			rig.CallersKeep(t, l, harness.Age(t, p.Writer, "idempotency_keys"), func(g *runtime.Guard, call runtime.Call, status int) (runtime.Result, error) {
				return runtime.DoTx(t.Context(), g, l, call, func(context.Context, *sql.Tx) (runtime.Answer, error) { return runtime.Answer{Status: status}, nil })
			})
		})
	}
}
