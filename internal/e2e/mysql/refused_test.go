package mysql_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/idemgen/idemgen/internal/e2e/mysql/emitted/ledger"
	"github.com/idemgen/idemgen/runtime"
)

// The handler ran, and the server lets nobody in for a while, each time for
// another reason: the caller has the answer, the key has it when the ledger is
// back, and nothing runs twice.
func TestAnswersOutliveAServerThatLetsNobodyIn(t *testing.T) {
	const user = "'shop'@'%'"
	for name, c := range map[string]struct{ away, back string }{
		"the account is locked (4151)":   {"ALTER USER " + user + " ACCOUNT LOCK", "ALTER USER " + user + " ACCOUNT UNLOCK"},
		"the password is another (1045)": {"ALTER USER " + user + " IDENTIFIED BY 'other'", "ALTER USER " + user + " IDENTIFIED BY 'shop'"},
		"no grant is left (1044)":        {"REVOKE ALL ON `DATABASE`.* FROM " + user, "GRANT ALL ON `DATABASE`.* TO " + user},
	} {
		t.Run(name, func(t *testing.T) {
			database := create(t)
			run := func(statement string) {
				t.Helper()
				if err := server.Run(strings.ReplaceAll(statement, "DATABASE", database)); err != nil {
					t.Fatal(err)
				}
			}
			if err := server.Run("CREATE USER "+user+" IDENTIFIED BY 'shop'", "GRANT ALL ON `"+database+"`.* TO "+user); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := server.Run("DROP USER " + user); err != nil {
					t.Error(err)
				}
			})
			config, err := driver.ParseDSN(server.DSN(database))
			if err != nil {
				t.Fatal(err)
			}
			config.User, config.Passwd = "shop", "shop"
			l, err := ledger.Open(t.Context(), open(t, config.FormatDSN(), 0))
			if err != nil {
				t.Fatal(err)
			}
			var completed, runs atomic.Int64
			engine := newEngine(t, l, runtime.WithObserver(runtime.ObserverFunc(func(_ context.Context, e runtime.Event) {
				if e.Kind == runtime.EventCompleted {
					completed.Add(1)
				}
			})))
			g := newGuard(t, engine, nil)
			work := func(context.Context) (runtime.Answer, error) {
				if runs.Add(1) == 1 {
					run(c.away)
					if err := server.Run("KILL HARD CONNECTION USER " + user); err != nil {
						t.Error(err)
					}
				}
				return runtime.Answer{Status: 201, Body: []byte("made")}, nil
			}
			if result, err := g.Do(t.Context(), call("k"), work); status(result, err) != 201 || completed.Load() != 0 {
				t.Errorf("the caller got %d, %v; %d completed", status(result, err), err, completed.Load())
			}
			run(c.back)
			for deadline := time.Now().Add(time.Minute); completed.Load() == 0; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the answer is never stored")
				}
			}
			if result, err := g.Do(t.Context(), call("k"), work); status(result, err) != 201 || !result.Replayed || runs.Load() != 1 {
				t.Errorf("a retry got %d, %v after %d runs; want the first answer", status(result, err), err, runs.Load())
			}
		})
	}
}
