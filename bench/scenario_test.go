package bench_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/runtime"
)

// scenario prepares a ledger for requests of one kind, and says which handler
// request i meets and what is sent.
type scenario func(b *testing.B, l runtime.Ledger, size int) (at func(i int) http.Handler, x exchange)

func always(h http.Handler) func(int) http.Handler { return func(int) http.Handler { return h } }

func body(size int) string { return strings.Repeat("x", size) }

// known are first requests with the known keys.
func known(size int) exchange {
	keys := newKeys(knownKeys, seedKnown)
	return exchange{key: func(i int) string { return keys[i%knownKeys] }, body: body(size), status: answer.Status}
}

// fresh: every request has a key of its own. Before that, others warm up the
// connections.
func fresh(b *testing.B, l runtime.Ledger, size int) (func(int) http.Handler, exchange) {
	h := protect(b, l, nil)
	send(b, knownKeys, inProcess(always(h), known(size)))
	return always(h), freshExchange(b, size)
}

func freshExchange(b *testing.B, size int) exchange { return freshExchangeOf(b.N, size) }

func freshExchangeOf(n, size int) exchange {
	keys := newKeys(n, seedFresh)
	return exchange{key: func(i int) string { return keys[i] }, body: body(size), status: answer.Status}
}

// replay: every request is the retry of one that this server answered lately.
func replay(b *testing.B, l runtime.Ledger, size int) (func(int) http.Handler, exchange) {
	h, x := protect(b, l, nil), known(size)
	send(b, knownKeys, inProcess(always(h), x))
	x.marker = "true"
	send(b, knownKeys, inProcess(always(h), x))
	return always(h), x
}

// cold: every request is the retry of one that another server answered. A
// server that has met all known keys once is replaced.
func cold(b *testing.B, l runtime.Ledger, size int) (func(int) http.Handler, exchange) {
	_, x := replay(b, l, size)
	servers := make([]http.Handler, b.N/knownKeys+1)
	for i := range servers {
		servers[i] = protect(b, l, nil)
	}
	return func(i int) http.Handler { return servers[i/knownKeys] }, x
}

// mismatch: every request uses a known key for something else.
func mismatch(b *testing.B, l runtime.Ledger, size int) (func(int) http.Handler, exchange) {
	at, x := replay(b, l, size)
	x.body, x.status, x.marker = strings.Repeat("y", size), http.StatusUnprocessableEntity, ""
	return at, x
}

// inProgress: every request is the retry of one that is still at work.
func inProgress(b *testing.B, l runtime.Ledger, size int) (func(int) http.Handler, exchange) {
	gate := newGate()
	h, x := protect(b, l, gate), known(size)
	owners := make(chan error)
	go func() { owners <- ready(knownKeys, knownKeys, inProcess(always(h), x))() }()
	for range knownKeys {
		select {
		case <-gate.begun:
		case err := <-owners:
			b.Fatal("an owner ended before it was let go: ", err)
		}
	}
	b.Cleanup(func() {
		close(gate.opened)
		if err := <-owners; err != nil {
			b.Error(err)
		}
	})
	x.status = http.StatusConflict
	return always(h), x
}
