package shop_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/process"
)

const tea = `{"sku":"tea","qty":2}`

// stories are told on every database that the shop runs on.
var stories = map[string]func(*testing.T, *process.Server){
	"Create":                             placeOrder,
	"Accounts":                           accounts,
	"Cancel":                             cancel,
	"Upload":                             upload,
	"Refund":                             refund,
	"DifferentPathsAreDifferentRequests": differentPathsAreDifferentRequests,
	"HangUp":                             hangUp,
	"FailureIsFinalWithoutATransaction":  failureIsFinalWithoutATransaction,
	"StopLetsWorkFinish":                 stopLetsWorkFinish,
	"OneKeyManyClients":                  oneKeyManyClients,
}

func TestStories(t *testing.T) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			for name, story := range stories {
				t.Run(name, func(t *testing.T) { story(t, d.start(t, d.create(t))) })
			}
		})
	}
}

func placeOrder(t *testing.T, s *process.Server) {
	first := create("k", tea).want(t, s, 201, "")
	if first.header.Get("Location") != "/v1/orders/1" {
		t.Errorf("Location %q", first.header.Get("Location"))
	}
	wantSame(t, first, create("k", tea).want(t, s, 201, ""))
	create("k", `{"sku":"tea","qty":3}`).want(t, s, 422, "idempotency_key_reused")
	create("", tea).want(t, s, 400, "idempotency_key_required")
	create("l", `{"qty":1}`).want(t, s, 422, "request_invalid")
	versioned := create("k", tea)
	versioned.header = map[string]string{"X-Api-Version": "2"}
	versioned.want(t, s, 422, "idempotency_key_reused")
	wantOrders(t, s, 1)
}

func accounts(t *testing.T, s *process.Server) {
	create("k", tea).want(t, s, 201, "")
	bob := create("k", `{"sku":"coffee","qty":1}`)
	bob.header = map[string]string{"Authorization": "Bearer bob"}
	if a := bob.want(t, s, 201, ""); a.replayed() {
		t.Error("bob got alice's answer")
	}
	mallory := create("k", tea)
	mallory.header = map[string]string{"Authorization": "Bearer mallory"}
	mallory.want(t, s, 401, "unauthenticated")
	if got := list(t, s, "bob"); len(got) != 1 || got[0].SKU != "coffee" {
		t.Errorf("bob's orders: %v", got)
	}
	cancel := call{method: "POST", path: "/v1/orders/1/cancel", key: "c", header: map[string]string{"Authorization": "Bearer bob"}}
	cancel.want(t, s, 404, "order_unknown")
}

func cancel(t *testing.T, s *process.Server) {
	create("k", tea).want(t, s, 201, "")
	cancel := call{method: "POST", path: "/v1/orders/1/cancel", key: "c"}
	first := cancel.want(t, s, 200, "")
	wantSame(t, first, cancel.want(t, s, 200, ""))
	cancel.key = "d"
	wantSame(t, cancel.want(t, s, 409, "order_cancelled"), cancel.want(t, s, 409, "order_cancelled"))
	for _, outcome := range []string{"error", "panic"} {
		create("o"+outcome, tea).want(t, s, 201, "")
	}
	for i, outcome := range []string{"error", "panic"} {
		failing := call{method: "POST", path: fmt.Sprintf("/v1/orders/%d/cancel", i+2), key: "f" + outcome,
			body: `{"simulate":{"outcome":"` + outcome + `"}}`}
		failing.want(t, s, 500, "internal_error")
		if got := list(t, s, "alice")[i+1]; got.Status != "placed" {
			t.Errorf("after a simulated %s the order is %s", outcome, got.Status)
		}
		if a := failing.want(t, s, 500, "internal_error"); a.replayed() {
			t.Errorf("a failure in a transaction was stored")
		}
	}
}

func upload(t *testing.T, s *process.Server) {
	create("k", tea).want(t, s, 201, "")
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for name, body := range map[string]string{"bytes": string(every), "empty": ""} {
		upload := call{method: "PUT", path: "/v1/orders/1/receipt", key: name, body: body,
			header: map[string]string{"Content-Type": "application/octet-stream"}}
		first := upload.want(t, s, 200, "")
		if string(first.body) != body {
			t.Errorf("%s: got %q", name, first.body)
		}
		wantSame(t, first, upload.want(t, s, 200, ""))
	}
}

func refund(t *testing.T, s *process.Server) {
	create("k", tea).want(t, s, 201, "")
	refund := call{method: "POST", path: "/v1/refunds", key: "r", body: `{"order_id":1,"amount":5}`}
	first := refund.want(t, s, 200, "")
	wantSame(t, first, refund.want(t, s, 200, ""))
	refund.key, refund.body = "s", `{"order_id":9,"amount":5}`
	if a := refund.do(t, s); a.status != 404 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func differentPathsAreDifferentRequests(t *testing.T, s *process.Server) {
	for i, pair := range [][2]string{
		{"/v1/orders/1/cancel?a=1&b=2", "/v1/orders/1/cancel?b=2&a=1"},
		{"/v1/orders/1%31/receipt", "/v1/orders/11/receipt"},
	} {
		key := fmt.Sprint("k", i)
		method := map[int]string{0: "POST", 1: "PUT"}[i]
		call{method: method, path: pair[0], key: key}.want(t, s, 404, "order_unknown")
		call{method: method, path: pair[1], key: key}.want(t, s, 422, "idempotency_key_reused")
	}
}

func hangUp(t *testing.T, s *process.Server) {
	slow := create("k", `{"sku":"tea","qty":1,"simulate":{"delay_ms":700}}`)
	ctx, hangUp := context.WithCancel(context.Background())
	gone := make(chan error)
	go func() {
		_, err := slow.send(ctx, s)
		gone <- err
	}()
	for create("k", "{}").do(t, s).code() != "idempotency_key_reused" {
	}
	hangUp()
	if err := <-gone; err == nil {
		t.Fatal("the client got an answer before it hung up")
	}
	slow.want(t, s, 409, "idempotency_key_in_progress")
	if a := slow.settle(t, s); a.status != 201 || !a.replayed() {
		t.Errorf("retry: %d %s", a.status, a.body)
	}
	wantOrders(t, s, 1)
}

func failureIsFinalWithoutATransaction(t *testing.T, s *process.Server) {
	for _, outcome := range []string{"error", "panic"} {
		failing := create(outcome, `{"sku":"tea","qty":1,"simulate":{"outcome":"`+outcome+`"}}`)
		wantSame(t, failing.want(t, s, 500, "internal_error"), failing.want(t, s, 500, "internal_error"))
	}
	wantOrders(t, s, 0)
}

func stopLetsWorkFinish(t *testing.T, s *process.Server) {
	slow := create("k", `{"sku":"tea","qty":1,"simulate":{"delay_ms":500}}`)
	done := make(chan int)
	go func() {
		a, _ := slow.send(context.Background(), s)
		done <- a.status
	}()
	for create("k", "{}").do(t, s).code() != "idempotency_key_reused" {
	}
	if err := s.Stop(); err != nil {
		t.Errorf("%v\n%s", err, s.Log())
	}
	if status := <-done; status != 201 {
		t.Errorf("the request that ran got %d", status)
	}
}

// 64 clients with one key, 200 rounds: one run each, and every other answer is
// the replay or a 409.
func oneKeyManyClients(t *testing.T, s *process.Server) {
	const rounds, clients = 200, 64
	for round := range rounds {
		c := create(fmt.Sprint("k", round), fmt.Sprintf(`{"sku":"s%d","qty":1}`, round))
		var wg sync.WaitGroup
		answers := make([]answer, clients)
		errs := make([]error, clients)
		for i := range clients {
			wg.Go(func() { answers[i], errs[i] = c.send(context.Background(), s) })
		}
		wg.Wait()
		ran := 0
		for i, a := range answers {
			switch {
			case errs[i] != nil:
				t.Fatal(errs[i])
			case a.status == 201 && !a.replayed():
				ran++
			case a.status == 201 && a.replayed(), a.status == 409:
			default:
				t.Fatalf("round %d: %d %s", round, a.status, a.body)
			}
		}
		if ran != 1 {
			t.Fatalf("round %d: %d requests ran", round, ran)
		}
	}
	wantOrders(t, s, rounds)
}
