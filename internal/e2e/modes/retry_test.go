package modes_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/idemgen/idemgen/example/store"
	"github.com/idemgen/idemgen/runtime"
)

// Handlers that read and write one row under SERIALIZABLE fail each other.
// With retry they run again in the same claim; whatever a client is told is
// what stands.
func TestRetryAfterSerializationFailures(t *testing.T) {
	for _, once := range []bool{false, true} {
		t.Run(fmt.Sprintf("once=%v", once), func(t *testing.T) {
			name := fmt.Sprintf("modes_%d", names.Add(1))
			if err := postgres.Create(name, "default_transaction_isolation TO 'serializable'"); err != nil {
				t.Fatal(err)
			}
			s, err := store.Open(t.Context(), postgres.URL(name))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			for _, statement := range []string{"CREATE TABLE account (balance bigint)", "INSERT INTO account VALUES (0)"} {
				if _, err := s.Writer.Exec(statement); err != nil {
					t.Fatal(err)
				}
			}
			e, err := runtime.NewEngine(s.Keys, runtime.WithLogger(slog.New(slog.DiscardHandler)))
			if err != nil {
				t.Fatal(err)
			}
			p := runtime.DefaultPolicy("POST /v1/deposits")
			p.Failure, p.Once, p.Retry = runtime.FailureRelease, once, 10
			g, err := e.Guard(p)
			if err != nil {
				t.Fatal(err)
			}
			var runs, done, refused atomic.Int64
			deposit := func(ctx context.Context, tx *sql.Tx) (runtime.Answer, error) {
				runs.Add(1)
				var balance int64
				if err := tx.QueryRowContext(ctx, "SELECT balance FROM account").Scan(&balance); err != nil {
					return runtime.Answer{}, err
				}
				_, err := tx.ExecContext(ctx, "UPDATE account SET balance = $1", balance+1)
				return runtime.Answer{Status: 201}, err
			}
			const clients, each = 8, 10
			var wg sync.WaitGroup
			for c := range clients {
				wg.Go(func() {
					for i := range each {
						key := fmt.Sprint(c, "-", i)
						call := runtime.Call{Principal: "alice", Key: key, Fingerprint: func(runtime.Rule) [32]byte { return sha256.Sum256([]byte(key)) }}
						result, err := runtime.DoTx(t.Context(), g, s.Keys, call, deposit)
						var own *runtime.Error
						switch {
						case err == nil && result.Answer.Status == 201:
							done.Add(1)
						case err == nil && result.Answer.Status == 503, errors.As(err, &own) && own.Status == 503:
							refused.Add(1)
						default:
							t.Errorf("%+v, %v", result, err)
						}
					}
				})
			}
			wg.Wait()
			var balance int64
			if err := s.Writer.QueryRow("SELECT balance FROM account").Scan(&balance); err != nil {
				t.Fatal(err)
			}
			if balance != done.Load() {
				t.Errorf("the balance is %d after %d deposits that stand", balance, done.Load())
			}
			if runs.Load() == clients*each {
				t.Error("no handler ran again, so the test shows nothing")
			}
			t.Logf("%d deposits in %d runs, %d refused", done.Load(), runs.Load(), refused.Load())
		})
	}
}
