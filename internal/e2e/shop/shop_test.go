// Package shop_test attacks the example from outside, as its clients and its
// machine would.
package shop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/idemgen/idemgen/internal/e2e/process"
	"github.com/idemgen/idemgen/prove/servers"
)

// binary is the example, and paying its payment service, built once.
var binary, paying string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "shop-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "shop")
	paying = filepath.Join(dir, "payments")
	for binary, pkg := range map[string]string{binary: ".", paying: "./payments/server"} {
		if out, err := process.Try("../../../example", process.Env(), "go", "build", "-o", binary, pkg); err != nil {
			fmt.Fprintln(os.Stderr, err, out)
			return 1
		}
	}
	if postgres, err = servers.StartPostgres(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer postgres.Stop()
	if mariadb, err = servers.StartMariaDB(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer mariadb.Stop()
	return m.Run()
}

// call is one request of alice's.
type call struct {
	method, path, key, body string
	header                  map[string]string
}

func create(key, body string) call {
	return call{method: "POST", path: "/v1/orders", key: key, body: body}
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) replayed() bool { return a.header.Get("Idempotency-Replayed") == "true" }

func (a answer) code() string {
	var problem struct{ Error string }
	json.Unmarshal(a.body, &problem)
	return problem.Error
}

// client keeps enough connections for the largest test.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}}

func (c call) send(ctx context.Context, s *process.Server) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, c.method, s.URL+c.path, strings.NewReader(c.body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Authorization", "Bearer alice")
	if c.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		r.Header.Set("Idempotency-Key", c.key)
	}
	for name, value := range c.header {
		r.Header.Set(name, value)
	}
	response, err := client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, body}, err
}

func (c call) do(t *testing.T, s *process.Server) answer {
	t.Helper()
	a, err := c.send(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (c call) want(t *testing.T, s *process.Server, status int, code string) answer {
	t.Helper()
	a := c.do(t, s)
	if a.status != status || a.code() != code {
		t.Fatalf("%s %s under %q: %d %s, want %d %s", c.method, c.path, c.key, a.status, a.body, status, code)
	}
	return a
}

// settle repeats a call for as long as it is told to come back.
func (c call) settle(t *testing.T, s *process.Server) answer {
	t.Helper()
	for {
		a := c.do(t, s)
		if a.status != 409 || a.header.Get("Retry-After") == "" {
			return a
		}
		wait, err := time.ParseDuration(a.header.Get("Retry-After") + "s")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(wait)
	}
}

type order struct {
	ID     int64
	SKU    string
	Status string
}

func list(t *testing.T, s *process.Server, account string) []order {
	t.Helper()
	c := call{method: "GET", path: "/v1/orders", header: map[string]string{"Authorization": "Bearer " + account}}
	a := c.do(t, s)
	var list struct{ Orders []order }
	if err := json.Unmarshal(a.body, &list); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	return list.Orders
}

func wantOrders(t *testing.T, s *process.Server, n int) {
	t.Helper()
	if got := len(list(t, s, "alice")); got != n {
		t.Errorf("%d orders, want %d", got, n)
	}
}

func wantSame(t *testing.T, first, again answer) {
	t.Helper()
	if !again.replayed() || first.replayed() {
		t.Errorf("replay markers: %v, then %v", first.replayed(), again.replayed())
	}
	if first.status != again.status || !bytes.Equal(first.body, again.body) {
		t.Errorf("first %d %q, replay %d %q", first.status, first.body, again.status, again.body)
	}
	for _, name := range []string{"Content-Type", "Location", "Content-Length"} {
		if first.header.Get(name) != again.header.Get(name) {
			t.Errorf("%s: first %q, replay %q", name, first.header.Get(name), again.header.Get(name))
		}
	}
}
