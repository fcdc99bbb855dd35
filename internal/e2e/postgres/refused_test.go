package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemgen/idemgen/internal/e2e/rig"
	"github.com/idemgen/idemgen/runtime"
)

// The handler ran, and the ledger cannot be reached for a while, each time in
// another way: the caller has the answer, the key has it when the ledger is
// back, and nothing runs twice.
func TestAnswersOutliveALedgerThatLetsNobodyIn(t *testing.T) {
	for name, c := range map[string]struct{ away, back string }{
		"the role may not log in":    {"ALTER ROLE shop NOLOGIN", "ALTER ROLE shop LOGIN"},
		"no connections are allowed": {"ALTER DATABASE %s ALLOW_CONNECTIONS false", "ALTER DATABASE %s ALLOW_CONNECTIONS true"},
		"the database has no name":   {"ALTER DATABASE %s RENAME TO hidden", "ALTER DATABASE hidden RENAME TO %s"},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, d driver) {
				database := create(t)
				for _, statement := range []string{"CREATE ROLE shop LOGIN PASSWORD 'shop'", "GRANT ALL ON SCHEMA public TO shop"} {
					if err := server.Run(database, statement); err != nil && !strings.Contains(err.Error(), "already exists") {
						t.Fatal(err)
					}
				}
				l := d.open(t, server.DSN(database, "user=shop", "password=shop"), 0)
				name := func(statement string) string {
					if strings.Contains(statement, "%s") {
						statement = fmt.Sprintf(statement, database)
					}
					return statement
				}
				outlive(t, l, func() {
					throwOut := fmt.Sprintf("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname IN ('%s', 'hidden')", database)
					administer(t, throwOut, name(c.away))
					administer(t, throwOut)
				}, func() { administer(t, name(c.back)) })
			})
		})
	}
}

// A hook of the pool that fails says nothing of an answer, whatever class its
// error has.
func TestAnswersOutliveAHookThatFails(t *testing.T) {
	config, err := pgxpool.ParseConfig(server.DSN(create(t)))
	if err != nil {
		t.Fatal(err)
	}
	var fails atomic.Bool
	config.BeforeConnect = func(context.Context, *pgx.ConnConfig) error {
		if fails.Load() {
			return &pgconn.PgError{Code: "22P02", Message: "the password's own database is confused"}
		}
		return nil
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	outlive(t, openNative(t, pool), func() {
		fails.Store(true)
		pool.Reset()
	}, func() { fails.Store(false) })
}

// outlive runs work under a claim, after which the ledger is away, and wants its
// answer stored once it is back.
func outlive(t *testing.T, l ledger, away, back func()) {
	t.Helper()
	var completed atomic.Int64
	engine := rig.NewEngine(t, l, runtime.WithObserver(runtime.ObserverFunc(func(_ context.Context, e runtime.Event) {
		if e.Kind == runtime.EventCompleted {
			completed.Add(1)
		}
	})))
	g := rig.NewGuard(t, engine, nil)
	var runs atomic.Int64
	work := func(context.Context) (runtime.Answer, error) {
		if runs.Add(1) == 1 {
			away()
		}
		return runtime.Answer{Status: 201, Body: []byte("made")}, nil
	}
	result, err := g.Do(t.Context(), rig.Call("k"), work)
	if rig.Status(result, err) != 201 || string(result.Answer.Body) != "made" || completed.Load() != 0 {
		t.Errorf("the caller got %d %s, %v; %d completed; want its answer, and none", rig.Status(result, err), result.Answer.Body, err, completed.Load())
	}
	_, err = g.Do(t.Context(), rig.Call("another"), work)
	var own *runtime.Error
	if !errors.As(err, &own) || own.Status != 503 || !errors.Is(err, runtime.ErrNotSent) {
		t.Errorf("another request got %v; want 503 for a claim that was not sent", err)
	}
	back()
	await(t, func() bool { return completed.Load() > 0 })
	result, err = g.Do(t.Context(), rig.Call("k"), work)
	if rig.Status(result, err) != 201 || !result.Replayed || runs.Load() != 1 || completed.Load() != 1 {
		t.Errorf("a retry got %d, %v after %d runs and %d completions; want the first answer", rig.Status(result, err), err, runs.Load(), completed.Load())
	}
}

// administer runs statements from the database that is always there.
func administer(t *testing.T, statements ...string) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		err := server.Run("postgres", statements...)
		if err == nil {
			return
		}
		// A database that is renamed must be used by nobody, and its users
		// leave when they notice that they were ended.
		if !strings.Contains(err.Error(), "being accessed") || time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
