package bench_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// exchange is what is sent and what must come back.
type exchange struct {
	key    func(i int) string
	body   string
	status int
	marker string // the value of the replay marker; "" is not a replay
}

const (
	path      = "/v1/orders"
	keyHeader = "Idempotency-Key"
	marker    = "Idempotency-Replayed"
	kind      = "application/json"
)

func (x exchange) check(status int, header http.Header) error {
	if got := header.Get(marker); status != x.status || got != x.marker {
		return fmt.Errorf("the answer is %d, replayed %q; it should be %d, %q", status, got, x.status, x.marker)
	}
	return nil
}

// discard is a ResponseWriter that keeps the status and the header alone.
type discard struct {
	header http.Header
	status int
}

func (w *discard) Header() http.Header         { return w.header }
func (w *discard) Write(p []byte) (int, error) { return len(p), nil }
func (w *discard) WriteHeader(status int)      { w.status = status }

// reusable is a request body that is read again and again.
type reusable struct{ *bytes.Reader }

func (reusable) Close() error { return nil }

// inProcess calls the handler that is there at request i. Each worker reuses
// its request, so that what is measured is the handler.
func inProcess(at func(i int) http.Handler, x exchange) worker {
	body := []byte(x.body)
	return func() func(int) error {
		r := httptest.NewRequest("POST", path, nil)
		r.Header.Set("Content-Type", kind)
		r.Header.Set(keyHeader, "")
		key, reader := r.Header[keyHeader], bytes.NewReader(nil)
		w := &discard{header: http.Header{}}
		return func(i int) error {
			reader.Reset(body)
			r.Body, r.ContentLength = reusable{reader}, int64(len(body))
			key[0] = x.key(i)
			clear(w.header)
			at(i).ServeHTTP(w, r)
			return x.check(w.status, w.header)
		}
	}
}

// overHTTP sends requests to a server on loopback, each worker on its own
// connection.
func overHTTP(b *testing.B, address string, x exchange) worker {
	transport := &http.Transport{MaxIdleConnsPerHost: 2 * warmInFlight}
	b.Cleanup(transport.CloseIdleConnections)
	return func() func(int) error {
		return func(i int) error {
			r, err := http.NewRequest("POST", "http://"+address+path, strings.NewReader(x.body))
			if err != nil {
				return err
			}
			r.Header.Set("Content-Type", kind)
			r.Header.Set(keyHeader, x.key(i))
			response, err := transport.RoundTrip(r)
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, response.Body)
			response.Body.Close()
			if err != nil {
				return err
			}
			return x.check(response.StatusCode, response.Header)
		}
	}
}

// listen takes a loopback port.
func listen(b *testing.B) net.Listener {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// serve serves a handler over HTTP and says where.
func serve(b *testing.B, h http.Handler) string {
	b.Helper()
	server, l := &http.Server{Handler: h}, listen(b)
	go server.Serve(l)
	b.Cleanup(func() { server.Close() })
	return l.Addr().String()
}
