package runtime_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/idemgen/idemgen/runtime"
)

func TestMiddleware(t *testing.T) {
	g := newRig(t)
	m, err := runtime.NewMiddleware(policy(), g.ledger, bearer)
	if err != nil {
		t.Fatal(err)
	}
	var wrap func(http.Handler) http.Handler = m.Wrap
	runs := 0
	h := wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		runs++
		w.WriteHeader(201)
		w.Write(readAll(t, r.Body))
	}))
	first := do(h, request("k", "abc"))
	wantReplay(t, first, do(h, request("k", "abc")))
	get := request("", "", func(r *http.Request) { r.Method = "GET" })
	if w := do(h, get); w.Code != 201 || runs != 2 {
		t.Errorf("GET: %d, %d runs", w.Code, runs)
	}
	for _, safe := range []string{"HEAD", "OPTIONS", "TRACE", "QUERY", "PROPFIND", "SEARCH", "REPORT"} {
		if w := do(h, request("", "", func(r *http.Request) { r.Method = safe })); w.Code != 201 {
			t.Errorf("%s without a key: %d %s", safe, w.Code, w.Body)
		}
	}
	for _, unsafe := range []string{"DELETE", "PATCH", "LINK", "PROPPATCH", "MKCOL", "LOCK", "CONNECT"} {
		if w := do(h, request("", "", func(r *http.Request) { r.Method = unsafe })); w.Code != 400 {
			t.Errorf("%s without a key: %d %s", unsafe, w.Code, w.Body)
		}
	}
	if err := m.Close(context.Background()); err != nil {
		t.Error(err)
	}
	bad := policy()
	bad.Lease = 0
	if _, err := runtime.NewMiddleware(bad, g.ledger, bearer); err == nil || !strings.Contains(err.Error(), "Lease: 0s is too short") {
		t.Errorf("a bad policy: %v", err)
	}
}

// Routers other than ServeMux leave the request's wildcards empty.
func TestWildcardsOnAnyRouter(t *testing.T) {
	g := newRig(t)
	h := g.server.Handle(policy(), runtime.Route{Method: "POST", Pattern: "/v1/orders/{id}/lines/{line}"},
		func(r *runtime.Request) (runtime.Work, error) {
			return func(context.Context) (*runtime.Response, error) {
				return &runtime.Response{Body: []byte(r.PathValue("id") + "," + r.PathValue("line"))}, nil
			}, nil
		})
	w := do(h, request("k", "", func(r *http.Request) {
		r.URL.Path = "/v1/orders/a b/lines/2"
		r.RequestURI = "/v1/orders/a%20b/lines/2"
	}))
	if w.Code != 200 || w.Body.String() != "a b,2" {
		t.Errorf("got %d %q", w.Code, w.Body)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /v1/orders/{id}/lines/{line}", h)
	w = do(mux, request("l", "", func(r *http.Request) { r.URL.Path = "/v1/orders/7/lines/3" }))
	if w.Code != 200 || w.Body.String() != "7,3" {
		t.Errorf("behind a ServeMux: %d %q", w.Code, w.Body)
	}
}

func TestConstructorsRefuse(t *testing.T) {
	g := newRig(t)
	if _, err := runtime.NewServer(nil, bearer); err == nil {
		t.Error("nil ledger accepted")
	}
	if _, err := runtime.NewServer(g.ledger, nil); err == nil {
		t.Error("nil principal function accepted")
	}
	for name, option := range map[string]runtime.Option{
		"observer": runtime.WithObserver(nil), "logger": runtime.WithLogger(nil),
		"secret": runtime.WithKeyHashSecret([]byte("short")), "authorize": runtime.WithAuthorize(nil), "challenge": runtime.WithChallenge(""),
	} {
		if _, err := runtime.NewServer(g.ledger, bearer, option); err == nil {
			t.Errorf("%s accepted", name)
		}
	}
	server, err := runtime.NewServer(g.ledger, bearer)
	if err != nil {
		t.Fatal(err)
	}
	server.Handle(runtime.Policy{Operation: "POST /x"}, orders, nil)
	if err := server.Err(); err == nil || !strings.Contains(err.Error(), `policy of "POST /x"`) {
		t.Errorf("zero policy: %v", err)
	}
}

// Middleware may wrap handlers in several goroutines, as its doc says.
func TestMiddlewareWrapsConcurrently(t *testing.T) {
	m, err := runtime.NewMiddleware(policy(), newRig(t).ledger, bearer, quiet)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { m.Wrap(http.NotFoundHandler()) })
	}
	group.Wait()
}
