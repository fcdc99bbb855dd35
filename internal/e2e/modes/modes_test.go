// Package modes_test checks what each commit mode promises, on real databases
// and over HTTP.
package modes_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/idemgen/idemgen/example/checkout"
	"github.com/idemgen/idemgen/example/payments"
	"github.com/idemgen/idemgen/example/store"
	"github.com/idemgen/idemgen/prove/servers"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

var postgres *servers.Postgres

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if postgres, err = servers.StartPostgres(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer postgres.Stop()
	return m.Run()
}

// database is an empty database.
type database struct {
	name string
	// apart makes every write of the ledger a commit of its own.
	apart bool
}

// Through database/sql only SQLite shares commits; PostgreSQL commits apart in
// any case.
var databases = map[string]func(t *testing.T) database{
	"sqlite":       func(t *testing.T) database { return database{name: newFile(t)} },
	"sqlite-apart": func(t *testing.T) database { return database{name: newFile(t), apart: true} },
	"postgres":     newPostgres,
}

func newFile(t *testing.T) string { return filepath.Join(t.TempDir(), "checkout.db") }

var names atomic.Int64

func newPostgres(t *testing.T) database {
	name := fmt.Sprintf("modes_%d", names.Add(1))
	if err := postgres.Create(name); err != nil {
		t.Fatal(err)
	}
	return database{name: postgres.URL(name)}
}

// modes are the paths of the checkout and how many rows their effect has.
var modes = []struct {
	name, path string
	rows       int
}{
	{"claim", "/v1/charges", 1}, {"twice", "/v1/transfers", 2}, {"once", "/v1/withdrawals", 1},
}

// each runs a test for every mode on every database.
func each(t *testing.T, test func(t *testing.T, r *rig, path string, rows int)) {
	for engine, create := range databases {
		for _, mode := range modes {
			t.Run(engine+"/"+mode.name, func(t *testing.T) { test(t, newRig(t, create(t)), mode.path, mode.rows) })
		}
	}
}

// rig is a checkout whose callers name themselves.
type rig struct {
	*checkout.Service
	t    *testing.T
	db   *store.Store
	paid *payments.Service
	url  string
	// losing makes the server lose its answers.
	losing atomic.Bool
	// inside is called in the transactions of transfers and withdrawals.
	inside func(reference string)
}

func newRig(t *testing.T, d database) *rig {
	t.Helper()
	s, err := store.Open(t.Context(), d.name, sqlledger.WithSharedCommits(!d.apart))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if _, err := s.Writer.Exec(checkout.Tables); err != nil {
		t.Fatal(err)
	}
	kept, err := sqlledger.OpenSQLite("sqlite", filepath.Join(t.TempDir(), "payments.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kept.Close() })
	r := &rig{t: t, db: s}
	if r.paid, err = payments.NewService(t.Context(), kept.Writer); err != nil {
		t.Fatal(err)
	}
	paid := httptest.NewServer(r.paid)
	t.Cleanup(paid.Close)
	r.Service = &checkout.Service{Payments: &payments.Client{URL: paid.URL, HTTP: payments.NewHTTP(nil)}}
	h, err := checkout.NewCheckoutServer(r, s.Keys, func(r *http.Request) (string, error) { return r.Header.Get("From"), nil },
		runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close(context.Background()) })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if r.losing.Load() {
			h.ServeHTTP(httptest.NewRecorder(), request)
			panic(http.ErrAbortHandler)
		}
		h.ServeHTTP(w, request)
	}))
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

func (r *rig) Withdraw(ctx context.Context, tx *sql.Tx, in checkout.Payment) (*checkout.Receipt, error) {
	if r.inside != nil {
		r.inside(in.Reference)
	}
	return r.Service.Withdraw(ctx, tx, in)
}

type answer struct {
	status   int
	replayed bool
	body     string
}

// ask sends a payment; status 0 is a broken connection.
func (r *rig) ask(path, from, key string, reference string, cents int) (answer, error) {
	body := fmt.Sprintf(`{"reference":%q,"cents":%d}`, reference, cents)
	request, err := http.NewRequest(http.MethodPost, r.url+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header = http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {key}, "From": {from}}
	// A client that would send a request again by itself hides what is tested.
	request.GetBody = nil
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, nil
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header.Get("Idempotency-Replayed") == "true", string(content)}, err
}

func (r *rig) want(status int, replayed bool, path, from, key, reference string, cents int) answer {
	r.t.Helper()
	a, err := r.ask(path, from, key, reference, cents)
	if err != nil || a.status != status || a.replayed != replayed {
		r.t.Errorf("%s of %s under %q: %d (replayed: %v) %s, %v; want %d (%v)", path, from, key, a.status, a.replayed, a.body, err, status, replayed)
	}
	return a
}

// wantEffects counts effects of a reference, each of so many rows.
func (r *rig) wantEffects(path, reference string, rows, want int) {
	r.t.Helper()
	n := 0
	if path == "/v1/charges" {
		charges, err := r.paid.Charges(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		for _, c := range charges {
			if c.Reference == reference {
				n++
			}
		}
	} else if err := r.db.Writer.QueryRow("SELECT count(*) FROM bookings WHERE reference = $1", reference).Scan(&n); err != nil {
		r.t.Fatal(err)
	}
	if n != want*rows {
		r.t.Errorf("%d rows of %s; want %d effects of %d", n, reference, want, rows)
	}
}

// A client whose answer was lost after the commit gets the same answer when it
// asks again; another caller's key of that name is its own; a key past its
// retention is a new one.
func TestRetries(t *testing.T) {
	each(t, func(t *testing.T, r *rig, path string, rows int) {
		r.losing.Store(true)
		r.want(0, false, path, "alice", "k", "lost", 100)
		r.losing.Store(false)
		first := r.want(201, true, path, "alice", "k", "lost", 100)
		if again := r.want(201, true, path, "alice", "k", "lost", 100); again.body != first.body {
			t.Errorf("%s, then %s", first.body, again.body)
		}
		r.wantEffects(path, "lost", rows, 1)
		r.want(422, false, path, "alice", "k", "other", 100)
		r.wantEffects(path, "other", rows, 0)

		r.want(201, false, path, "bob", "k", "lost", 100)
		r.wantEffects(path, "lost", rows, 2)

		if _, err := r.db.Writer.Exec(`UPDATE idempotency_keys SET lease_until = lease_until - 90000000,
			expires_at = expires_at - 90000000, gone_at = gone_at - 90000000, sweep_at = sweep_at - 90000000`); err != nil {
			t.Fatal(err)
		}
		r.want(201, false, path, "alice", "k", "lost", 100)
		again := 1
		if path == "/v1/charges" {
			// The payment service still knows the derived key: a retry that
			// comes too late for us is not too late for it.
			again = 0
		}
		r.wantEffects(path, "lost", rows, 2+again)
	})
}

// A constraint that the database finds violated leaves no effect. The default
// for transactions keeps no answer either, so that a retry runs.
func TestConstraintViolation(t *testing.T) {
	for engine, create := range databases {
		for _, mode := range modes[1:] {
			t.Run(engine+"/"+mode.name, func(t *testing.T) {
				r := newRig(t, create(t))
				for range 2 {
					r.want(500, false, mode.path, "alice", "k", "much", 1_000_000_000)
				}
				r.wantEffects(mode.path, "much", 1, 0)
				var rows int
				if err := r.db.Writer.QueryRow("SELECT count(*) FROM idempotency_keys").Scan(&rows); err != nil || rows != 0 {
					t.Errorf("%d rows of the ledger, %v; want none", rows, err)
				}
			})
		}
	}
}

// Under store the error is the answer, and stays it.
func TestConstraintViolationStored(t *testing.T) {
	for engine, create := range databases {
		for _, once := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/once=%v", engine, once), func(t *testing.T) {
				r := newRig(t, create(t))
				e, err := runtime.NewEngine(r.db.Keys, runtime.WithLogger(slog.New(slog.DiscardHandler)))
				if err != nil {
					t.Fatal(err)
				}
				p := runtime.DefaultPolicy("POST /v1/stored")
				p.Failure, p.Once = runtime.FailureStore, once
				g, err := e.Guard(p)
				if err != nil {
					t.Fatal(err)
				}
				runs := 0
				call := runtime.Call{Principal: "alice", Key: "k", Fingerprint: func(runtime.Rule) [32]byte { return [32]byte{1} }}
				var first runtime.Result
				for i := range 2 {
					result, err := runtime.DoTx(t.Context(), g, r.db.Keys, call, func(ctx context.Context, tx *sql.Tx) (runtime.Answer, error) {
						runs++
						if err := checkout.Book(ctx, tx, "stored", 1); err != nil {
							t.Fatal(err)
						}
						return runtime.Answer{}, checkout.Book(ctx, tx, "stored", 1_000_000_000)
					})
					if err != nil || result.Answer.Status != 500 || result.Replayed != (i == 1) {
						t.Errorf("%+v, %v", result, err)
					}
					if i == 0 {
						first = result
					} else if !bytes.Equal(first.Answer.Body, result.Answer.Body) {
						t.Errorf("%s, then %s", first.Answer.Body, result.Answer.Body)
					}
				}
				if runs != 1 {
					t.Errorf("the work ran %d times", runs)
				}
				r.wantEffects("/v1/transfers", "stored", 1, 0)
			})
		}
	}
}

// The pool has one connection, and the ledger and the handlers share it.
func TestPoolOfOneConnection(t *testing.T) {
	each(t, func(t *testing.T, r *rig, path string, rows int) {
		r.db.Writer.SetMaxOpenConns(1)
		const at = 4
		for name, key := range map[string]func(i int) string{
			"keys of their own": func(i int) string { return fmt.Sprint("own ", i) },
			"one key":           func(int) string { return "shared" },
		} {
			var wg sync.WaitGroup
			var ran atomic.Int64
			for i := range at {
				wg.Go(func() {
					reference := strings.ReplaceAll(key(i), " ", "-")
					a, err := r.ask(path, "alice", key(i), reference, 100)
					if err != nil || a.status != 201 && (a.status != 409 || key(0) != key(1)) {
						t.Errorf("%s: %d %s, %v", name, a.status, a.body, err)
					}
					if a.status == 201 && !a.replayed {
						ran.Add(1)
					}
				})
			}
			wg.Wait()
			want := int64(at)
			if key(0) == key(1) {
				want = 1
			}
			if ran.Load() != want {
				t.Errorf("%s: %d ran, want %d", name, ran.Load(), want)
			}
		}
		r.wantEffects(path, "shared", rows, 1)
	})
}

// One slow request in a single commit and its duplicates hold up nobody else,
// although the pool has four connections.
func TestSlowOnceHoldsUpNobodyElse(t *testing.T) {
	r := newRig(t, newPostgres(t))
	r.db.Writer.SetMaxOpenConns(4)
	entered, leave := make(chan struct{}), make(chan struct{})
	r.inside = func(reference string) {
		if reference == "slow" {
			close(entered)
			<-leave
		}
	}
	const duplicates = 8
	answers := make(chan answer, 1+duplicates)
	slow := func() {
		a, err := r.ask("/v1/withdrawals", "alice", "slow", "slow", 100)
		if err != nil {
			t.Error(err)
		}
		answers <- a
	}
	go slow()
	<-entered
	for range duplicates {
		go slow()
	}
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			a, err := r.ask("/v1/withdrawals", "bob", fmt.Sprint("k", i), "quick", 100)
			if err != nil || a.status != 201 {
				t.Errorf("bob got %d %s, %v", a.status, a.body, err)
			}
		})
	}
	wg.Wait()
	select {
	case a := <-answers:
		if a.status == 201 {
			t.Errorf("the slow request was answered %s before it was done", a.body)
		}
	default:
	}
	close(leave)
	for range cap(answers) {
		select {
		case a := <-answers:
			if a.status != 201 && a.status != 409 {
				t.Errorf("alice got %d %s", a.status, a.body)
			}
		case <-t.Context().Done():
			t.Fatal(errors.New("alice was not answered"))
		}
	}
	r.wantEffects("/v1/withdrawals", "slow", 1, 1)
	r.wantEffects("/v1/withdrawals", "quick", 1, 40)
}
