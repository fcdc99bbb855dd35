package deploy_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/idemgen/idemgen/internal/e2e/process"
)

// order is an order whose SKU is its key.
func order(key string) request {
	return request{method: "POST", path: "/v1/orders", key: key, contentType: "application/json",
		form: `{"sku":"` + key + `","qty":%d}`, number: 1}
}

// placed places an order for others to refer to.
func (p pair) placed(t *testing.T, key string) (id int64) {
	t.Helper()
	var placed struct{ ID int64 }
	if err := json.Unmarshal([]byte(order(key).want(t, p.earlier, 201, "").body), &placed); err != nil {
		t.Fatal(err)
	}
	return placed.ID
}

// want sends a request and demands an answer that is no replay.
func (r request) want(t *testing.T, s *process.Server, status int, code string) answer {
	t.Helper()
	a, err := r.send(s)
	if err != nil || a.status != status || a.code() != code || a.replayed {
		t.Fatalf("%q got %+v, %v; want %d %s", r.key, a, err, status, code)
	}
	return a
}

// wantReplay sends a request and demands the replay of an answer.
func (r request) wantReplay(t *testing.T, s *process.Server, first answer) {
	t.Helper()
	if a, err := r.send(s); err != nil || a != first.again() {
		t.Fatalf("%q got %+v, %v; want the replay of %+v", r.key, a, err, first)
	}
}

func wantForm(t *testing.T, a answer, contentType string) {
	t.Helper()
	if a.contentType != contentType {
		t.Errorf("%d %s is %s, want %s", a.status, a.body, a.contentType, contentType)
	}
}

func (db database) wantCount(t *testing.T, want int, query string, args ...any) {
	t.Helper()
	if n := db.count(t, query, args...); n != want {
		t.Errorf("%s %v: %d, want %d", query, args, n, want)
	}
}

// await waits until a query counts so many.
func (db database) await(t *testing.T, want int, query string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); db.count(t, query) != want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: never %d", query, want)
		}
	}
}

func (db database) count(t *testing.T, query string, args ...any) (n int) {
	t.Helper()
	if err := db.QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// age makes all rows older.
func (db database) age(t *testing.T, minutes int) {
	t.Helper()
	if _, err := db.Exec(`
UPDATE idempotency_keys SET
  claimed_at = claimed_at - $1::bigint, lease_until = lease_until - $1::bigint, expires_at = expires_at - $1::bigint,
  gone_at = gone_at - $1::bigint, sweep_at = sweep_at - $1::bigint, created_at = created_at - $1::bigint`,
		minutes*60*1000); err != nil {
		t.Fatal(err)
	}
}
