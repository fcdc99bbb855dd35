package shop_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/idemgen/idemgen/example/orders"
	"github.com/idemgen/idemgen/example/store"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

// A handler that uses the pool that its ledger uses, and the pool has one
// connection: four requests at once all finish, in every mode, whether they
// share a key or not.
func TestPoolOfOneConnection(t *testing.T) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			s, err := store.Open(t.Context(), d.create(t), sqlledger.WithSharedCommits(!d.apart))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			s.Writer.SetMaxOpenConns(1)
			shop := &orders.Shop{Writer: s.Writer, Reader: s.Writer, Dialect: s.Dialect}
			if err := shop.CreateTables(t.Context()); err != nil {
				t.Fatal(err)
			}
			h, err := orders.NewOrdersServer(shop, s.Keys, func(*http.Request) (string, error) { return "alice", nil })
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { h.Close(context.Background()) })
			server := httptest.NewServer(h)
			t.Cleanup(server.Close)

			const at = 4
			four := func(name string, request func(i int) (path, key, body string), allowed ...int) (ran int) {
				t.Helper()
				var mu sync.Mutex
				var wg sync.WaitGroup
				for i := range at {
					wg.Go(func() {
						path, key, body := request(i)
						status, replayed, err := post(server.URL+path, key, body)
						mu.Lock()
						defer mu.Unlock()
						ok := status < 300
						for _, s := range allowed {
							ok = ok || status == s
						}
						if err != nil || !ok {
							t.Errorf("%s: %d, %v", name, status, err)
						}
						if status < 300 && !replayed {
							ran++
						}
					})
				}
				wg.Wait()
				return ran
			}
			if ran := four("orders", func(i int) (string, string, string) { return "/v1/orders", fmt.Sprint("o", i), tea }); ran != at {
				t.Errorf("%d of %d orders ran", ran, at)
			}
			if ran := four("one order", func(int) (string, string, string) { return "/v1/orders", "one", tea }, 409); ran != 1 {
				t.Errorf("one order ran %d times", ran)
			}
			if ran := four("cancellations", func(i int) (string, string, string) {
				return fmt.Sprintf("/v1/orders/%d/cancel", i+1), fmt.Sprint("c", i), ""
			}); ran != at {
				t.Errorf("%d of %d cancellations ran", ran, at)
			}
			if ran := four("one cancellation", func(int) (string, string, string) { return "/v1/orders/5/cancel", "cc", "" }, 409); ran != 1 {
				t.Errorf("one cancellation ran %d times", ran)
			}
			wantCount(t, s.Writer, "SELECT count(*) FROM orders", at+1)
			wantCount(t, s.Writer, "SELECT count(*) FROM cancellations", at+1)
		})
	}
}

func post(url, key, body string) (status int, replayed bool, err error) {
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0, false, err
	}
	r.Header.Set("Idempotency-Key", key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := client.Do(r)
	if err != nil {
		return 0, false, err
	}
	defer response.Body.Close()
	io.Copy(io.Discard, response.Body)
	return response.StatusCode, response.Header.Get("Idempotency-Replayed") == "true", nil
}

func wantCount(t *testing.T, db *sql.DB, query string, want int) {
	t.Helper()
	var n int
	if err := db.QueryRow(query).Scan(&n); err != nil || n != want {
		t.Errorf("%s: %d, %v; want %d", query, n, err, want)
	}
}
