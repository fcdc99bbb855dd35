package bench_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// answer is what every handler says. It is made beforehand, so that what is
// measured is the protection.
var answer = &runtime.Response{
	Status: http.StatusCreated,
	Header: http.Header{"Content-Type": {kind}, "Location": {"/v1/orders/7"}},
	Body:   []byte(`{"id":7,"sku":"tea","qty":2,"status":"placed"}`),
}

// bare does the same work without a ledger.
var bare = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Status)
	w.Write(answer.Body)
})

// protect serves the answer as generated code would. Work that begins passes
// the gate, when there is one.
func protect(b *testing.B, l runtime.Ledger, gate *gate) http.Handler {
	b.Helper()
	server, err := runtime.NewServer(l, func(*http.Request) (string, error) { return "alice", nil })
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := server.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	work := func(context.Context) (*runtime.Response, error) { return answer, nil }
	if gate != nil {
		work = func(context.Context) (*runtime.Response, error) {
			gate.pass()
			return answer, nil
		}
	}
	policy := runtime.DefaultPolicy("POST " + path)
	// Work at the gate must outlast any measurement.
	policy.Lease, policy.Timeout = time.Hour, 50*time.Minute
	h := server.Handle(policy, runtime.Route{Method: "POST", Pattern: path},
		func(*runtime.Request) (runtime.Work, error) { return work, nil })
	if err := server.Err(); err != nil {
		b.Fatal(err)
	}
	return h
}

// gate holds work until it is opened.
type gate struct {
	begun  chan struct{}
	opened chan struct{}
}

func newGate() *gate { return &gate{begun: make(chan struct{}), opened: make(chan struct{})} }

func (g *gate) pass() {
	g.begun <- struct{}{}
	<-g.opened
}
