// Package security_test attacks servers from outside, with what a client may
// send and more.
package security_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/idemgen/idemgen/example/store"
	"github.com/idemgen/idemgen/internal/e2e/process"
	"github.com/idemgen/idemgen/runtime"
)

// binary is the example, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "security-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "shop")
	if out, err := process.Try("../../../example", process.Env(), "go", "build", "-o", binary, "."); err != nil {
		fmt.Fprintln(os.Stderr, err, out)
		return 1
	}
	return m.Run()
}

// startShop starts the example on a new SQLite file.
func startShop(t *testing.T) *process.Server {
	t.Helper()
	return process.Start(t, binary, "-addr", "127.0.0.1:0", "-db", filepath.Join(t.TempDir(), "shop.db"), "-simulate")
}

// answer is one response.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) replayed() bool { return a.header.Get("Idempotency-Replayed") == "true" }

// raw sends bytes to a server as they are, says that no more will follow, and
// returns what comes back: as bytes, and as responses.
func raw(t *testing.T, url, text string) (string, []answer) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// The limit is for a server that never answers; no test waits for it.
	conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Logf("the server did not take it all: %v", err)
	}
	conn.(*net.TCPConn).CloseWrite()
	got, err := io.ReadAll(conn)
	if err != nil && !errors.Is(err, net.ErrClosed) && len(got) == 0 {
		t.Fatalf("no answer to %.200q: %v", text, err)
	}
	var answers []answer
	for r := bufio.NewReader(bytes.NewReader(got)); ; {
		response, err := http.ReadResponse(r, nil)
		if err != nil {
			return string(got), answers
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatalf("a broken answer: %v in %q", err, got)
		}
		answers = append(answers, answer{response.StatusCode, response.Header, string(body)})
	}
}

// post is a request of alice's for an order, as it stands on the wire.
func post(lines, body string) string {
	return "POST /v1/orders HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer alice\r\nContent-Type: application/json\r\n" +
		"Connection: close\r\n" + lines + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

// placed is how many orders alice has.
func placed(t *testing.T, s *process.Server) int {
	t.Helper()
	r, err := http.NewRequest("GET", s.URL+"/v1/orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer alice")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var list struct{ Orders []json.RawMessage }
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil || response.StatusCode != 200 {
		t.Fatalf("the list of orders: %d, %v", response.StatusCode, err)
	}
	return len(list.Orders)
}

// guarded is a server in this process, on SQLite, whose answers a test makes.
type guarded struct {
	*httptest.Server
	store *store.Store
	log   *lines
}

// guard serves a handler under a policy. The caller is named by the header
// Caller, percent-encoded, so that a test may call itself anything.
func guard(t *testing.T, p runtime.Policy, h http.HandlerFunc, opts ...runtime.Option) *guarded {
	t.Helper()
	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "keys.db"))
	if err != nil {
		t.Fatal(err)
	}
	log := &lines{}
	opts = append([]runtime.Option{runtime.WithLogger(slog.New(slog.NewTextHandler(log, nil)))}, opts...)
	m, err := runtime.NewMiddleware(p, db.Keys, caller, opts...)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(m.Wrap(h))
	t.Cleanup(func() {
		server.Close()
		if err := errors.Join(m.Close(context.Background()), db.Close()); err != nil {
			t.Error(err)
		}
	})
	return &guarded{server, db, log}
}

// send makes one request through a client that minds the protocol.
func (g *guarded) send(t *testing.T, caller, key, body string, header ...string) answer {
	t.Helper()
	r, err := http.NewRequest("POST", g.URL+"/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Caller", caller)
	r.Header.Set("Idempotency-Key", key)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := g.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}

// rows is how many keys the ledger has.
func (g *guarded) rows(t *testing.T) (n int64) {
	t.Helper()
	counts, err := g.store.Keys.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range counts {
		n += c.Rows
	}
	return n
}

// lines is a log that tests read.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func policy() runtime.Policy { return runtime.DefaultPolicy("POST /") }
