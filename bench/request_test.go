// Package bench_test measures what a protected request costs, side by side in
// one run: absolute times drift between machines, ratios hold.
package bench_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/idemgen/idemgen/example/orders"
	ledger "github.com/idemgen/idemgen/example/orders/ledger/sqlite"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/memory"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

const body = `{"sku":"tea","qty":2}`

// answer is what every handler does: it costs next to nothing, so that what is
// measured is the protection.
func answer(context.Context) (*runtime.Response, error) {
	return runtime.JSON(http.StatusCreated, orders.Order{ID: 7, SKU: "tea", Qty: 2, Status: "placed"})
}

// handler is one way to serve the same answer.
type handler struct {
	name string
	make func(b *testing.B) http.Handler
}

var handlers = []handler{
	{"bare", func(*testing.B) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var in orders.CreateOrder
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			json.NewEncoder(w).Encode(orders.Order{ID: 7, SKU: in.SKU, Qty: in.Qty, Status: "placed"})
		})
	}},
	{"memory", func(b *testing.B) http.Handler { return protect(b, memory.New()) }},
	{"sqlite", func(b *testing.B) http.Handler { return protect(b, openSQLite(b)) }},
}

// protect serves the answer as generated code would.
func protect(b *testing.B, l runtime.Ledger) http.Handler {
	b.Helper()
	principal := func(*http.Request) (string, error) { return "alice", nil }
	server, err := runtime.NewServer(l, principal)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := server.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	h := server.Handle(runtime.DefaultPolicy("POST /v1/orders"), runtime.Route{Method: "POST", Pattern: "/v1/orders"},
		func(r *runtime.Request) (runtime.Work, error) {
			var in orders.CreateOrder
			d := r.Decode()
			d.JSON(&in)
			return answer, d.Err()
		})
	if err := server.Err(); err != nil {
		b.Fatal(err)
	}
	return h
}

func openSQLite(b *testing.B) *sqlledger.Ledger {
	b.Helper()
	db, err := sqlledger.OpenSQLite("sqlite", filepath.Join(b.TempDir(), "ledger.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	return openSQLiteOn(b, db)
}

func openSQLiteOn(b *testing.B, db *sqlledger.SQLite) *sqlledger.Ledger {
	b.Helper()
	l, err := ledger.Open(context.Background(), db.Writer, sqlledger.WithReader(db.Reader))
	if err != nil {
		b.Fatal(err)
	}
	return l
}

func serve(b *testing.B, h http.Handler, key string) {
	r := httptest.NewRequest("POST", "/v1/orders", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusCreated {
		b.Errorf("%d %s", w.Code, w.Body)
	}
}

// each runs a benchmark for every handler at every number of requests in
// flight.
func each(b *testing.B, key func(n int64) string, prepare func(b *testing.B, h http.Handler)) {
	for _, h := range handlers {
		for _, inFlight := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("%s/inflight=%d", h.name, inFlight), func(b *testing.B) {
				served := h.make(b)
				prepare(b, served)
				var n atomic.Int64
				b.ReportAllocs()
				b.ResetTimer()
				var left atomic.Int64
				left.Store(int64(b.N))
				done := make(chan struct{})
				for range inFlight {
					go func() {
						defer func() { done <- struct{}{} }()
						for left.Add(-1) >= 0 {
							serve(b, served, key(n.Add(1)))
						}
					}()
				}
				for range inFlight {
					<-done
				}
			})
		}
	}
}

// BenchmarkFresh: every request has a key of its own.
func BenchmarkFresh(b *testing.B) {
	each(b, func(n int64) string { return strconv.FormatInt(n, 10) }, func(*testing.B, http.Handler) {})
}

// BenchmarkReplay: every request is the retry of one that was answered.
func BenchmarkReplay(b *testing.B) {
	each(b, func(int64) string { return "k" }, func(b *testing.B, h http.Handler) { serve(b, h, "k") })
}

// BenchmarkStatements: the bare claim and completion through the same driver
// and pool, one commit each, which is the floor for a fresh key on SQLite.
func BenchmarkStatements(b *testing.B) {
	db, err := sqlledger.OpenSQLite("sqlite", filepath.Join(b.TempDir(), "bare.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Writer.Exec(`CREATE TABLE bare (key TEXT PRIMARY KEY, status TEXT, body BLOB) WITHOUT ROWID`); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		exec(b, db.Writer, `INSERT INTO bare (key, status) VALUES (?, 'pending') ON CONFLICT DO NOTHING`, n)
		exec(b, db.Writer, `UPDATE bare SET status = 'completed', body = ? WHERE key = ? AND status = 'pending'`, body, n)
	}
}

func exec(b *testing.B, db *sql.DB, statement string, args ...any) {
	if _, err := db.Exec(statement, args...); err != nil {
		b.Fatal(err)
	}
}
