// Package crash_test kills and pauses servers at every step of a request.
package crash_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/idemgen/idemgen/example/checkout"
	"github.com/idemgen/idemgen/example/payments"
	"github.com/idemgen/idemgen/internal/e2e/process"
	"github.com/idemgen/idemgen/prove/servers"
)

var (
	binary   string // the server, built once
	postgres *servers.Postgres
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "crash-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "server")
	if out, err := process.Try(".", process.Env(), "go", "build", "-o", binary, "./server"); err != nil {
		fmt.Fprintln(os.Stderr, err, out)
		return 1
	}
	if postgres, err = servers.StartPostgres(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer postgres.Stop()
	return m.Run()
}

// database is an empty database: its name for the server, and a connection for
// counting.
type database struct {
	name string
	*sql.DB
	// apart makes every write of the ledger a commit of its own.
	apart bool
}

// Through database/sql only SQLite shares commits; PostgreSQL commits apart in
// any case.
var databases = map[string]func(t *testing.T) database{
	"sqlite": newSQLite,
	"sqlite-apart": func(t *testing.T) database {
		db := newSQLite(t)
		db.apart = true
		return db
	},
	"postgres": newPostgres,
}

func newSQLite(t *testing.T) database {
	file := filepath.Join(t.TempDir(), "checkout.db")
	return database{name: file, DB: open(t, "sqlite", file)}
}

// start starts a server on the database.
func (db database) start(t *testing.T, paid *payer, extra ...string) *process.Server {
	t.Helper()
	return process.StartWith(t, []string{"DATABASE_URL=" + db.name}, binary, append([]string{"-payments", paid.url, fmt.Sprintf("-shared-commits=%v", !db.apart)}, extra...)...)
}

var names atomic.Int64

func newPostgres(t *testing.T) database {
	name := fmt.Sprintf("crash_%d", names.Add(1))
	if err := postgres.Create(name); err != nil {
		t.Fatal(err)
	}
	return database{name: postgres.URL(name), DB: open(t, "pgx", postgres.DSN(name))}
}

func open(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// payer is a payment service and how often it was asked to charge.
type payer struct {
	*payments.Service
	url   string
	asked atomic.Int64
}

func newPayer(t *testing.T) *payer {
	t.Helper()
	service, err := payments.NewService(t.Context(), open(t, "sqlite", filepath.Join(t.TempDir(), "payments.db")))
	if err != nil {
		t.Fatal(err)
	}
	p := &payer{Service: service}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		service.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

// answer is what a client got; status 0 is a broken connection.
type answer struct {
	status   int
	replayed bool
	receipt  checkout.Receipt
	body     []byte
	again    time.Duration // Retry-After
}

func ask(s *process.Server, path, key string) answer {
	r, err := http.NewRequest(http.MethodPost, s.URL+path, strings.NewReader(`{"reference":"r","cents":100}`))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	if err != nil {
		return answer{}
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode, replayed: response.Header.Get("Idempotency-Replayed") == "true"}
	if a.body, err = io.ReadAll(response.Body); err != nil {
		return answer{}
	}
	json.Unmarshal(a.body, &a.receipt)
	a.again, _ = time.ParseDuration(response.Header.Get("Retry-After") + "s")
	return a
}

// settle asks for as long as it is told to come back.
func settle(t *testing.T, s *process.Server, path, key string) answer {
	t.Helper()
	for {
		a := ask(s, path, key)
		if a.status != 409 && a.status != 503 || a.again == 0 {
			return a
		}
		time.Sleep(a.again) // as a client does
	}
}

// modes are the ways in which an effect and its answer come to stand together,
// and what a crash at each point leaves behind: the generation of the claim
// under which the work was done in the end, and whether the retry is a replay.
type left struct {
	generation int64
	replayed   bool
	asked      int64 // how often the payment service was asked to charge
}

var modes = []struct {
	name, path string
	points     map[string]left
}{
	{"claim", "/v1/charges", map[string]left{
		"after the claim":      {2, false, 1},
		"inside the effect":    {2, false, 2},
		"after the effect":     {2, false, 2},
		"after the completion": {1, true, 1},
	}},
	{"twice", "/v1/transfers", map[string]left{
		"after the claim":      {2, false, 0},
		"inside the effect":    {2, false, 0},
		"after the effect":     {2, false, 0},
		"after the completion": {1, true, 0},
	}},
	{"once", "/v1/withdrawals", map[string]left{
		"after the claim":      {1, false, 0},
		"inside the effect":    {1, false, 0},
		"after the effect":     {1, false, 0},
		"after the completion": {1, true, 0},
	}},
}

func TestKilled(t *testing.T) {
	for engine, create := range databases {
		for _, mode := range modes {
			for point, want := range mode.points {
				t.Run(engine+"/"+mode.name+"/"+point, func(t *testing.T) {
					t.Parallel()
					db, paid := create(t), newPayer(t)
					doomed := db.start(t, paid, "-at", point)
					if a := ask(doomed, mode.path, "k"); a.status != 0 {
						t.Fatalf("the server lived to answer %d %s", a.status, a.body)
					}
					doomed.Kill() // it is dead, and now waited for
					s := db.start(t, paid)
					a := settle(t, s, mode.path, "k")
					// On a machine that stands still, a retry is taken over, too.
					taken := want.generation == 2 && a.receipt.Generation > 2
					if a.status != 201 || a.replayed != want.replayed || a.receipt.Generation != want.generation && !taken {
						t.Errorf("the retry got %d (replayed: %v) %s; want %+v", a.status, a.replayed, a.body, want)
					}
					if again := ask(s, mode.path, "k"); !again.replayed || !bytes.Equal(again.body, a.body) {
						t.Errorf("another retry got %d %s after %s", again.status, again.body, a.body)
					}
					db.wantEffect(t, mode.name, paid)
					if asked := paid.asked.Load(); asked != want.asked && !taken {
						t.Errorf("the payment service was asked %d times, want %d", asked, want.asked)
					}
				})
			}
		}
	}
}

// A kill at any moment of the commit leaves both or neither.
func TestKilledDuringTheCommit(t *testing.T) {
	for engine, create := range databases {
		for _, mode := range modes {
			t.Run(engine+"/"+mode.name, func(t *testing.T) {
				t.Parallel()
				stood := 0
				delays := []time.Duration{0, 50 * time.Microsecond, 200 * time.Microsecond, time.Millisecond, 3 * time.Millisecond}
				for _, delay := range delays {
					db, paid := create(t), newPayer(t)
					doomed := db.start(t, paid, "-at", "during the commit", "-delay", delay.String())
					first := ask(doomed, mode.path, "k")
					doomed.Kill()
					s := db.start(t, paid)
					a := settle(t, s, mode.path, "k")
					if a.status != 201 || first.status == 201 && !bytes.Equal(first.body, a.body) {
						t.Errorf("after %v the retry got %d %s, and the first answer was %d %s", delay, a.status, a.body, first.status, first.body)
					}
					if a.replayed {
						stood++
					}
					db.wantEffect(t, mode.name, paid)
				}
				t.Logf("the commit stood %d times of %d", stood, len(delays))
			})
		}
	}
}

// wantEffect checks that the effect stands once.
func (db database) wantEffect(t *testing.T, mode string, paid *payer) {
	t.Helper()
	if mode == "claim" {
		charges, err := paid.Charges(t.Context())
		if err != nil || len(charges) != 1 {
			t.Errorf("%d charges, %v; want 1", len(charges), err)
		}
		return
	}
	var n int
	if err := db.QueryRow("SELECT count(*) FROM bookings").Scan(&n); err != nil || n != 2 {
		t.Errorf("%d bookings, %v; want one pair", n, err)
	}
}

// An owner that is paused inside its transaction frees its key about a lease
// later, because the server ends a transaction that sits idle. When it goes on,
// its work is gone and its caller is told what stands.
func TestPausedOwner(t *testing.T) {
	for _, mode := range modes[1:] {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			db, paid := newPostgres(t), newPayer(t)
			paused := db.start(t, paid, "-at", "inside the effect", "-stop")
			told := make(chan answer, 1)
			go func() { told <- ask(paused, mode.path, "k") }()
			paused.AwaitStopped(t)
			start := time.Now()
			s := db.start(t, paid)
			a := settle(t, s, mode.path, "k")
			t.Logf("the key was free again after %v, of a lease of 2s", time.Since(start))
			if a.status != 201 || a.replayed {
				t.Errorf("the retry got %d %s", a.status, a.body)
			}
			paused.Signal(syscall.SIGCONT)
			// Without a claim of its own that others saw, it cannot know that
			// somebody has done the work since.
			late := <-told
			if told := late.status == 201 && bytes.Equal(late.body, a.body); mode.name == "twice" && !told || mode.name == "once" && late.status != 503 && late.status != 500 {
				t.Errorf("the paused owner's caller got %d %s; the winner %s", late.status, late.body, a.body)
			}
			db.wantEffect(t, mode.name, paid)
			if again := ask(s, mode.path, "k"); !again.replayed || !bytes.Equal(again.body, a.body) {
				t.Errorf("another retry got %d %s after %s", again.status, again.body, a.body)
			}
		})
	}
}
