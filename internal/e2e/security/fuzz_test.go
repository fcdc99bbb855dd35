package security_test

import (
	"bufio"
	"context"
	"database/sql"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/idemgen/idemgen/example/orders"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/memory"
)

// FuzzShop sends whole requests, as bytes, to the generated server of the
// example: each gets a documented answer, work that runs has input that keeps
// its rules, and the same bytes again get the same answer without running again.
func FuzzShop(f *testing.F) {
	const headers = " HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\n"
	f.Add([]byte(post("Idempotency-Key: k\r\n", order)))
	f.Add([]byte(post("Idempotency-Key: k\r\nX-Api-Version: 2\r\n", `{"sku":"tea","qty":1e0}`)))
	f.Add([]byte("POST /v1/orders/7/cancel" + headers + "Content-Length: 0\r\n\r\n"))
	f.Add([]byte("POST /v1/orders/9223372036854775808/cancel" + headers + "Content-Length: 0\r\n\r\n"))
	f.Add([]byte("PUT /v1/orders/%37/receipt" + headers + "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"))
	f.Add([]byte("POST /v1/refunds?a=%zz" + headers + "Content-Length: 1\r\n\r\n{"))
	f.Add([]byte("POST http://b//v1/orders" + headers + "Content-Length: 1\r\n\r\n{"))
	f.Fuzz(func(t *testing.T, text []byte) {
		impl := &recorded{T: t}
		ledger := &noTransactions{Ledger: memory.New()}
		server, err := orders.NewOrdersServer(impl, ledger, func(*http.Request) (string, error) { return "alice", nil },
			runtime.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close(context.Background())
		first := send(server, text)
		if first == nil {
			return
		}
		ran := impl.runs
		switch first.Code {
		case 200, 201:
			if ran != 1 {
				t.Fatalf("%d after %d runs", first.Code, ran)
			}
		case 400, 413, 415, 422, 301, 307, 404, 405:
			if ran != 0 {
				t.Fatalf("%d after %d runs: %s", first.Code, ran, first.Body)
			}
		case 409: // Cancel, which has no transactions here
		default:
			t.Fatalf("%d %s", first.Code, first.Body)
		}
		again := send(server, text)
		if again.Code != first.Code || impl.runs != ran || ran == 1 && (again.Body.String() != first.Body.String() || again.Header().Get("Idempotency-Replayed") != "true") {
			t.Fatalf("first %d %s, again %d %s, %d runs", first.Code, first.Body, again.Code, again.Body, impl.runs)
		}
	})
}

// send is nil for what is no request.
func send(h http.Handler, text []byte) *httptest.ResponseRecorder {
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(string(text))))
	if err != nil {
		return nil
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// recorded counts the runs of the shop's work and checks their input.
type recorded struct {
	*testing.T
	runs int
}

func (o *recorded) Create(_ context.Context, in orders.CreateOrder) (*orders.Order, error) {
	o.runs++
	if in.SKU == "" || in.Qty < 1 {
		o.Errorf("the work ran on %+v", in)
	}
	return &orders.Order{ID: 1, SKU: in.SKU, Qty: in.Qty, Location: in.SKU}, nil
}

func (o *recorded) Cancel(context.Context, *sql.Tx, orders.CancelOrder) (*orders.Order, error) {
	o.Error("work ran in a transaction that there is not")
	return nil, nil
}

func (o *recorded) Upload(_ context.Context, r *runtime.Request) (*runtime.Response, error) {
	o.runs++
	for name := range r.Header {
		if name != "Content-Type" && name != "X-Api-Version" {
			o.Errorf("the work sees the header %q", name)
		}
	}
	return &runtime.Response{Header: http.Header{"Location": {r.PathValue("id")}}, Body: r.Body}, nil
}

func (o *recorded) Refund(w http.ResponseWriter, r *http.Request) {
	o.runs++
	w.Header().Set("Location", r.URL.Path)
}

// noTransactions is a ledger whose claims are all lost before their transaction
// begins.
type noTransactions struct{ runtime.Ledger }

func (noTransactions) Begin(context.Context, runtime.Fence, time.Duration) (runtime.Tx[*sql.Tx], bool, error) {
	return nil, false, nil
}
