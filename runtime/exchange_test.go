package runtime_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/idemgen/idemgen/runtime"
)

// What a handler and its server keep of a request stays as it was, however many
// are served after it.
func TestNothingOfARequestIsUsedAgain(t *testing.T) {
	type kept struct {
		key     string
		ctx     context.Context
		request *runtime.Request
		sent    http.Header
	}
	g := newRig(t)
	var all []*kept
	h := g.server.Handle(policy(), orders, func(r *runtime.Request) (runtime.Work, error) {
		return func(ctx context.Context) (*runtime.Response, error) {
			k := runtime.Key(ctx)
			all = append(all, &kept{key: k, ctx: ctx, request: r})
			return &runtime.Response{Header: http.Header{"Location": {k}}, Body: []byte(k)}, nil
		}, nil
	})
	for i := range 50 {
		key := fmt.Sprint("key ", i)
		w := do(h, request(key, "body of "+key))
		all[i].sent = w.Header()
		again := do(h, request(key, "body of "+key))
		if w.Body.String() != key || again.Body.String() != key || again.Header().Get("Idempotency-Replayed") != "true" {
			t.Fatalf("%s: %q, then %q", key, w.Body, again.Body)
		}
	}
	for _, k := range all {
		if k.ctx.Err() != context.Canceled || runtime.Key(k.ctx) != k.key || runtime.Principal(k.ctx) != "alice" {
			t.Errorf("%s: the context is that of %q, %v", k.key, runtime.Key(k.ctx), k.ctx.Err())
		}
		if string(k.request.Body) != "body of "+k.key || k.request.URI != "/v1/orders" || k.request.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: the request is %+v", k.key, k.request)
		}
		if k.sent.Get("Location") != k.key || k.sent.Get("Idempotency-Replayed") != "" {
			t.Errorf("%s: the header is %v", k.key, k.sent)
		}
	}
}

// A request is what was sent, whatever is made of it.
func TestFingerprintIsThatOfWhatWasSent(t *testing.T) {
	g := newRig(t)
	decoded := 0
	h := g.server.Handle(policy(), orders, func(r *runtime.Request) (runtime.Work, error) {
		decoded++
		if decoded == 1 {
			r.Method, r.URI, r.Body = "PUT", "/", nil
		}
		return created, nil
	})
	do(h, request("k", "b"))
	if w := do(h, request("k", "b")); w.Code != 201 || w.Header().Get("Idempotency-Replayed") != "true" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// Answers with more header than most arrive whole.
func TestAnswerWithManyHeaders(t *testing.T) {
	g := newRig(t)
	p := policy()
	want := http.Header{}
	for i := range 9 {
		name := http.CanonicalHeaderKey(fmt.Sprint("x-", i))
		p.Replay = append(p.Replay, name)
		want[name] = []string{fmt.Sprint("value ", i), fmt.Sprint("further ", i)}[:1+i%2]
	}
	h := g.typed(p, func(context.Context) (*runtime.Response, error) { return &runtime.Response{Header: want.Clone()}, nil })
	for _, again := range []string{"", "true"} {
		got := do(h, request("k", "")).Header()
		if got.Get("Idempotency-Replayed") != again {
			t.Errorf("replayed: %q", got.Get("Idempotency-Replayed"))
		}
		for name, values := range want {
			if fmt.Sprint(got[name]) != fmt.Sprint(values) {
				t.Errorf("%s: %q, want %q", name, got[name], values)
			}
		}
	}
}
