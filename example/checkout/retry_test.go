package checkout_test

import (
	"context"
	"database/sql"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/idemgen/idemgen/example/checkout"
	"github.com/idemgen/idemgen/example/payments"
	"github.com/idemgen/idemgen/example/store"
	"github.com/idemgen/idemgen/runtime/idemtest"
)

// shop is the service on a database in a folder.
type shop struct {
	http.Handler
	db   *sql.DB
	paid *payments.Service // what was charged elsewhere
}

func newShop(dir string, options ...func(*checkout.Service)) (*shop, error) {
	s, err := store.Open(context.Background(), filepath.Join(dir, "shop.db"))
	if err != nil {
		return nil, err
	}
	if _, err := s.Writer.Exec(checkout.Tables); err != nil {
		return nil, err
	}
	elsewhere, err := store.Open(context.Background(), filepath.Join(dir, "payments.db"))
	if err != nil {
		return nil, err
	}
	paid, err := payments.NewService(context.Background(), elsewhere.Writer)
	if err != nil {
		return nil, err
	}
	// Its address changes from process to process, and its table does not.
	service := &checkout.Service{Payments: &payments.Client{URL: httptest.NewServer(paid).URL, HTTP: payments.NewHTTP(http.DefaultTransport)}}
	for _, option := range options {
		option(service)
	}
	server, err := checkout.NewCheckoutServer(service, s.Keys,
		func(*http.Request) (string, error) { return "alice", nil })
	return &shop{server, s.Writer, paid}, err
}

func startShop(t *testing.T) *shop {
	t.Helper()
	s, err := newShop(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// request asks the service at url for one thing of the checkout.
func request(path, url, key string) *http.Request {
	r, _ := http.NewRequest("POST", url+"/v1"+path, strings.NewReader(`{"reference":"cart-7","cents":250}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	return r
}

// count is the number of rows in a table of the shop.
func count(t *testing.T, db *sql.DB, table string) (n int) {
	t.Helper()
	if err := db.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// charges is what alice was charged elsewhere.
func (s *shop) charges(t *testing.T) int {
	t.Helper()
	charges, err := s.paid.Charges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(charges)
}

func TestRetry(t *testing.T) {
	s := startShop(t)
	answer := idemtest.Retry(t, s, request("/transfers", "", "k1"))
	if answer.Code != http.StatusCreated || count(t, s.db, "bookings") != 2 {
		t.Errorf("%d %s, %d bookings", answer.Code, answer.Body, count(t, s.db, "bookings"))
	}
}

func TestLostAnswer(t *testing.T) {
	s := startShop(t)
	r := request("/withdrawals", "", "k1")
	idemtest.LoseAnswer(t, s, r)
	answer := idemtest.Send(t, s, r)
	if answer.Code != http.StatusCreated || answer.Header().Get("Idempotency-Replayed") != "true" {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
	if n := count(t, s.db, "bookings"); n != 1 {
		t.Errorf("%d bookings for one withdrawal", n)
	}
}

func TestHangUp(t *testing.T) {
	s := startShop(t)
	r := request("/transfers", "", "k1")
	idemtest.HangUp(t, s, r)
	answer := idemtest.Send(t, s, r)
	if answer.Code != http.StatusCreated || answer.Header().Get("Idempotency-Replayed") != "true" {
		t.Errorf("the handler was not let go on: %d %s", answer.Code, answer.Body)
	}
	if n := count(t, s.db, "bookings"); n != 2 {
		t.Errorf("%d bookings for one transfer", n)
	}
}

func TestTakeover(t *testing.T) {
	s := startShop(t)
	// The first server dies when the payment service has charged and the answer
	// is not stored. The second charges again, under the same derived key.
	answer := idemtest.Takeover(t, s, request("/charges", "", "k1"))
	if answer.Code != http.StatusCreated {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
	if n := s.charges(t); n != 1 {
		t.Errorf("alice was charged %d times", n)
	}
}

func TestTakeoverOfTransactions(t *testing.T) {
	s := startShop(t)
	for _, path := range []string{"/transfers", "/withdrawals"} {
		if answer := idemtest.Takeover(t, s, request(path, "", "k "+path)); answer.Code != http.StatusCreated {
			t.Errorf("%s: %d %s", path, answer.Code, answer.Body)
		}
	}
	if n := count(t, s.db, "bookings"); n != 3 {
		t.Errorf("%d bookings", n)
	}
}

func TestExpiry(t *testing.T) {
	s := startShop(t)
	idemtest.Retry(t, s, request("/withdrawals", "", "k1"))
	idemtest.SQLClock(t, s.db, "").Advance(t, 25*time.Hour)
	idemtest.Retry(t, s, request("/withdrawals", "", "k1"))
	if n := count(t, s.db, "bookings"); n != 2 {
		t.Errorf("%d bookings", n)
	}
}

// What stands once, however its server dies: a charge elsewhere under a derived
// key, and bookings that commit with their answer, in two commits or in one.
func TestEveryBoundary(t *testing.T) {
	for path, want := range map[string]func(*shop) int{
		"/charges":     func(s *shop) int { return s.charges(t) - 1 },
		"/transfers":   func(s *shop) int { return count(t, s.db, "bookings") - 2 },
		"/withdrawals": func(s *shop) int { return count(t, s.db, "bookings") - 1 },
	} {
		t.Run(path[1:], func(t *testing.T) {
			serve := func(dir string) (http.Handler, error) { return newShop(dir) }
			order := func(url, key string) *http.Request { return request(path, url, key) }
			idemtest.EveryBoundary(t, serve, order, func(t *testing.T, o idemtest.Outcome) {
				s, err := newShop(o.Dir)
				if err != nil {
					t.Fatal(err)
				}
				if surplus := want(s); surplus != 0 || o.Status != http.StatusCreated {
					t.Errorf("%d %s, %+d effects", o.Status, o.Body, surplus)
				}
			})
		})
	}
}

// A service that charges without a key is found out: its server dies between
// the charge and its record, and the retry charges again.
func TestEveryBoundaryFindsDoubleCharges(t *testing.T) {
	serve := func(dir string) (http.Handler, error) {
		return newShop(dir, func(s *checkout.Service) { s.Payments.HTTP = http.DefaultClient })
	}
	order := func(url, key string) *http.Request { return request("/charges", url, key) }
	var twice []string
	idemtest.EveryBoundary(t, serve, order, func(t *testing.T, o idemtest.Outcome) {
		s, err := newShop(o.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if s.charges(t) == 2 {
			twice = append(twice, o.Boundary)
		}
	})
	if !slices.Equal(twice, []string{"after the handler", "before the ledger's completion"}) {
		t.Errorf("two charges were found %q", twice)
	}
}

// The tests of docs/testing.md are those of this file, short, and without a
// sleep.
func TestDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("retry_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```go\n")[1:]
	if len(blocks) < 5 {
		t.Fatalf("docs/testing.md has %d blocks", len(blocks))
	}
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		if !strings.Contains(string(source), code) || strings.Count(code, "\n") > 30 || strings.Contains(code, "Sleep") {
			t.Errorf("not a short test of this file:\n%s", code)
		}
	}
}
