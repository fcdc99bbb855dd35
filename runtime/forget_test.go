package runtime_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// heap is what is in use after everything that nobody needs is gone.
func heap() int64 {
	var m goruntime.MemStats
	goruntime.GC()
	goruntime.GC()
	goruntime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Duplicates that wait keep a digest of their body where their work has decoded
// it, and the body itself where the work is handed it.
func TestWaitersLetGoOfTheirBodies(t *testing.T) {
	const size, many = 1 << 20, 40
	body := strings.Repeat("x", size)
	echo := func(body []byte) *runtime.Response {
		return &runtime.Response{Status: 201, Body: fmt.Append(nil, len(body))}
	}
	for name, c := range map[string]struct {
		handler func(g *rig, p runtime.Policy) http.Handler
		kept    bool
	}{
		"typed": {func(g *rig, p runtime.Policy) http.Handler {
			return g.server.Handle(p, orders, func(r *runtime.Request) (runtime.Work, error) {
				length := len(r.Body) // what was decoded
				return func(context.Context) (*runtime.Response, error) {
					return echo(make([]byte, length)), nil
				}, nil
			})
		}, false},
		"raw": {func(g *rig, p runtime.Policy) http.Handler {
			return g.server.Handle(p, orders, func(r *runtime.Request) (runtime.Work, error) {
				return func(context.Context) (*runtime.Response, error) { return echo(r.Body), nil }, nil
			})
		}, true},
		"standard": {func(g *rig, p runtime.Policy) http.Handler {
			return g.server.HandleFunc(p, orders, func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				w.WriteHeader(201)
				fmt.Fprint(w, len(body))
			})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, _, p := waiting(t)
				p.RequestMax, p.Wait = 2*size, time.Minute
				do(g.typed(p, held), request("k", body))
				h := c.handler(g, p)
				before := heap()
				answers := make(chan *httptest.ResponseRecorder)
				for range many {
					go func() { answers <- do(h, request("k", body)) }()
				}
				synctest.Wait()
				grown := heap() - before
				if kept := grown > many*size/2; kept != c.kept {
					t.Errorf("%d requests of %d bytes keep %d bytes", many, size, grown)
				}
				// The lease ends, and one of them runs.
				for range many {
					w := <-answers
					if w.Code != 201 || w.Body.String() != fmt.Sprint(size) {
						t.Fatalf("%d %s", w.Code, w.Body)
					}
				}
			})
		})
	}
}

// Another request is refused although its body is gone, and a row under another
// rule that comes meanwhile is told by a retry.
func TestDigestsStandForBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, other, p := waiting(t)
		old := p
		old.Fingerprint.Headers = nil
		p.Wait, old.Wait = time.Minute, 0
		for rule, owner := range map[string]runtime.Policy{"the same rule": p, "another rule": old} {
			key := "held under " + rule
			do(other.typed(owner, held), request(key, "a"))
			h := g.typed(p, created)
			done := make(chan *httptest.ResponseRecorder)
			go func() { done <- do(h, request(key, "a")) }()
			synctest.Wait()
			wantCode(t, do(h, request(key, "b")), 422, "idempotency_key_reused")
			if w := <-done; w.Code != 201 {
				t.Errorf("%s: %d %s", rule, w.Code, w.Body)
			}
		}
		do(other.typed(p, held), request("k", "a"))
		done := make(chan *httptest.ResponseRecorder)
		owned := g.typed(p, created)
		go func() { done <- do(owned, request("k", "a")) }()
		synctest.Wait()
		row, _, err := g.ledger.Read(t.Context(), runtime.ID{Principal: "alice", Key: "k"})
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := g.ledger.Release(t.Context(), runtime.Fence{ID: runtime.ID{Principal: "alice", Key: "k"}, Generation: row.Generation, Owner: row.Owner}); !ok || err != nil {
			t.Fatal(ok, err)
		}
		do(other.typed(old, held), request("k", "a"))
		wantCode(t, <-done, 409, "idempotency_key_retry")
	})
}
