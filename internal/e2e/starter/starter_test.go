// Package starter_test does what idemgen init tells its users to do.
package starter_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/process"
)

// newModule makes a module with what the printed go get commands would put
// into go.mod: the requirements, the tool line and the sums of the example.
func newModule(t *testing.T) (dir string, env []string) {
	t.Helper()
	root := process.Root(t)
	dir = t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(root, "example", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env = process.Env("GOFLAGS=-mod=mod", "GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local")
	process.Run(t, dir, env, "go", "mod", "edit", "-module=example.com/my-shop", "-replace=github.com/idemgen/idemgen="+root)
	return dir, env
}

func TestStarter(t *testing.T) {
	dir, env := newModule(t)
	for _, c := range []struct {
		name, argument, pkg, command string
	}{
		{"folder", "pay-ments", "./pay-ments", "./pay-ments/cmd/payments"},
		{"module root", "", ".", "./cmd/myshop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := strings.Fields("tool idemgen init " + c.argument)
			said := process.Run(t, dir, env, "go", args...)
			for _, part := range []string{"go generate " + c.pkg + "\n", "go run " + c.command + "\n"} {
				if !strings.Contains(said, part) {
					t.Errorf("init does not say %q:\n%s", part, said)
				}
			}
			process.Run(t, dir, env, "go", "generate", c.pkg)
			process.Run(t, dir, env, "go", "vet", c.pkg, c.command)
			process.Run(t, dir, env, "go", "tool", "idemgen", "check", c.pkg)
			process.Run(t, dir, env, "go", "tool", "idemgen", "vet", c.pkg, c.command)
			if unformatted := process.Run(t, dir, env, "gofmt", "-l", "."); unformatted != "" {
				t.Errorf("not formatted: %s", unformatted)
			}
			binary := filepath.Join(t.TempDir(), "server")
			process.Run(t, dir, env, "go", "build", "-o", binary, c.command)
			server := process.Start(t, binary, "-addr", "localhost:0", "-db", filepath.Join(t.TempDir(), "keys.db"))
			payAndRefund(t, server.URL)
			if err := server.Stop(); err != nil {
				t.Errorf("the server ended with %v:\n%s", err, server.Log())
			}

			out, err := process.Try(dir, env, "go", args...)
			if err == nil || !strings.Contains(out, "exists") {
				t.Errorf("a second init does not refuse to overwrite: %v\n%s", err, out)
			}
		})
	}
}

// payAndRefund retries what the starter offers.
func payAndRefund(t *testing.T, url string) {
	t.Helper()
	first := post(t, url+"/v1/payments", "k1", `{"amount":1250}`)
	if first.status != 201 || first.location != "/v1/payments/1" || first.replayed {
		t.Fatalf("the first answer is %+v", first)
	}
	again := post(t, url+"/v1/payments", "k1", `{"amount":1250}`)
	if !again.replayed || again.status != first.status || again.body != first.body || again.location != first.location {
		t.Errorf("the retry gives %+v, want %+v replayed", again, first)
	}
	if reused := post(t, url+"/v1/payments", "k1", `{"amount":1}`); reused.status != 422 {
		t.Errorf("another request with the key gives %+v", reused)
	}
	if invalid := post(t, url+"/v1/payments", "k2", `{"amount":0}`); invalid.status != 422 && invalid.status != 400 {
		t.Errorf("an invalid request gives %+v", invalid)
	}
	refunded := post(t, url+first.location+"/refund", "k3", "")
	if refunded.status != 200 || !strings.Contains(refunded.body, `"refunded":true`) {
		t.Errorf("the refund gives %+v", refunded)
	}
	if again := post(t, url+first.location+"/refund", "k3", ""); !again.replayed || again.body != refunded.body {
		t.Errorf("the retried refund gives %+v", again)
	}
	if twice := post(t, url+first.location+"/refund", "k4", ""); twice.status != 404 {
		t.Errorf("a second refund gives %+v", twice)
	}
}

type answer struct {
	status         int
	location, body string
	replayed       bool
}

func post(t *testing.T, url, key, body string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer alice")
	r.Header.Set("Idempotency-Key", key)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header.Get("Location"), string(content), response.Header.Get("Idempotency-Replayed") == "true"}
}
