package idemtest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/idemgen/idemgen/runtime/internal/boundary"
)

// Takeover sends a request to a server that dies in the middle of it, lets the
// lease of its claim pass, and sends the request again, to be taken over. It
// returns the answer to the second. Where the work has no transaction, the
// server dies after the work and before its answer is stored: what the work did
// outside stands, and it runs again. Where it has one, the server dies before
// the work begins: a transaction would have been rolled back.
func Takeover(t testing.TB, h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	died := false
	var failure error
	hook := func(p boundary.Point) {
		if p.Abandon == nil || p.Name != boundary.AfterHandler && !p.Transaction {
			return
		}
		died = true
		failure = p.Abandon(context.Background())
		runtime.Goexit() // nothing of this request happens any more
	}
	first := again(t, r)
	w := &lost{header: http.Header{}}
	var panicked any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { panicked = recover() }()
		h.ServeHTTP(w, first.WithContext(boundary.With(r.Context(), hook)))
	}()
	<-done
	switch {
	case panicked != nil:
		t.Fatalf("idemtest: Takeover: the handler panicked: %v", panicked)
	case !died:
		t.Fatalf("idemtest: Takeover: the request did not run under a claim of its own: it was answered with %s", w)
	case failure != nil:
		t.Fatalf("idemtest: Takeover: the claim's lease could not be ended: %v", failure)
	}
	return Send(t, h, r)
}

// Boundary makes a place in a handler, or in what stands in for the services
// that it calls, one more at which [EveryBoundary] ends the process. Outside of
// that test it does nothing.
func Boundary(ctx context.Context, name string) { boundary.Reach(ctx, name) }
