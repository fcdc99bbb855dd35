package security_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/memory"
)

// perSlowBody is the most memory that a client may tie up by sending a little of
// a body and then nothing, everything that net/http needs included: about twice
// what is needed, and less than what the client promises to send.
const perSlowBody = 48 << 10

// Ten thousand clients that each promise 64 KiB, send one byte and wait cost the
// server little each, nothing in the ledger, and do not keep others out.
func TestSlowBodies(t *testing.T) {
	ledger := &countingLedger{Ledger: memory.New()}
	m, err := runtime.NewMiddleware(policy(), ledger, caller, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	reading := make(chan struct{}, slowBodies)
	runs := atomic.Int64{}
	guarded := m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { runs.Add(1) }))
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = &watched{ReadCloser: r.Body, reading: reading}
		guarded.ServeHTTP(w, r)
	})}
	listener := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

	before := inUse()
	clients := make([]net.Conn, slowBodies)
	for i := range clients {
		clients[i] = listener.dial()
		fmt.Fprintf(clients[i], "POST / HTTP/1.1\r\nHost: a\r\nCaller: alice\r\nIdempotency-Key: %d\r\nContent-Length: %d\r\n\r\nx", i, 64<<10)
	}
	for range clients {
		<-reading
	}
	if per := (inUse() - before) / slowBodies; per > perSlowBody {
		t.Errorf("%d bytes are held for each of %d slow bodies; want at most %d", per, slowBodies, perSlowBody)
	} else {
		t.Logf("%d bytes are held for each of %d slow bodies", per, slowBodies)
	}
	if n := ledger.claims.Load(); n != 0 || runs.Load() != 0 {
		t.Errorf("%d claims and %d runs for bodies that have not come", n, runs.Load())
	}

	good := listener.dial()
	fmt.Fprint(good, "POST / HTTP/1.1\r\nHost: a\r\nCaller: alice\r\nIdempotency-Key: good\r\nContent-Length: 0\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(good), nil)
	if err != nil || response.StatusCode != 200 || runs.Load() != 1 {
		t.Errorf("beside them a good request got %+v, %v, %d runs", response, err, runs.Load())
	}
	for _, c := range append(clients, good) {
		c.Close()
	}
	// Closing them frees their handlers, which say 400 to nobody.
	if err := errors.Join(server.Shutdown(context.Background()), m.Close(context.Background())); err != nil {
		t.Error(err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	if n := ledger.claims.Load(); n != 1 {
		t.Errorf("%d claims; want the good request's alone", n)
	}
}

// inUse is the memory of heap and stacks that is in use.
func inUse() int64 {
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// countingLedger counts claims.
type countingLedger struct {
	runtime.Ledger
	claims atomic.Int64
}

func (l *countingLedger) Insert(ctx context.Context, c runtime.Claim) (runtime.Claimed, bool, error) {
	l.claims.Add(1)
	return l.Ledger.Insert(ctx, c)
}

// watched tells when a body is read for what has not come.
type watched struct {
	io.ReadCloser
	reading chan<- struct{}
	read    int
}

func (w *watched) Read(p []byte) (int, error) {
	if w.read++; w.read == 2 {
		w.reading <- struct{}{}
	}
	return w.ReadCloser.Read(p)
}

// pipes are connections without a network: ten thousand of them need no file
// descriptors.
type pipes struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

// dial connects a client.
func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "pipe"} }
