package module_test

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/process"
)

// TestReadme does what the README says, from its first block to its last, in
// a new module. What it changes in the commands is where the server listens
// (a free port) and how it is run (built first, so that it can be killed).
func TestReadme(t *testing.T) {
	t.Parallel()
	m := published(t)
	m.run(t, "go", "mod", "init", "example.com/orders")
	var server *process.Server
	var ran []string
	for _, b := range readme(t) {
		switch {
		case b.kind == "file":
			m.write(t, b.name, b.text)
			continue
		case b.name == "start":
			server = start(t, m, b)
		case b.name == "shop":
			if server == nil {
				t.Fatal("README.md has requests before it starts the server")
			}
			for _, command := range b.shell() {
				twice(t, server, command)
			}
		case b.name == "tool" || b.name == "light":
			// TestToolWay and TestLightWay run them, each in a module of its own.
		default:
			m.run(t, "sh", "-e", "-c", b.text)
			m.run(t, "go", "build", "./...")
		}
		ran = append(ran, b.name)
	}
	if got := strings.Join(ran, " "); got != "module start shop tool light" {
		t.Errorf("README.md has the commands %s", got)
	}

	// Cancel, which the README shows in the interface only, runs in a
	// transaction: the second request finds no order, and never looks.
	cancel := func() (int, http.Header, string) {
		r, err := http.NewRequest("POST", server.URL+"/v1/orders/1/cancel", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer alice")
		r.Header.Set("Idempotency-Key", "k2")
		return send(t, r)
	}
	status, first, body := cancel()
	again, second, replay := cancel()
	if want := `{"id":1,"sku":"tea","qty":2}`; status != 200 || strings.TrimSpace(body) != want || first.Get("Idempotency-Replayed") != "" {
		t.Errorf("cancel: %d %v %s, want 200 and %s", status, first, body, want)
	}
	if again != status || replay != body || second.Get("Idempotency-Replayed") != "true" {
		t.Errorf("cancel once more: %d %v %s, want the first answer", again, second, replay)
	}

	m.run(t, "go", "vet", "./...")
}

// start runs the commands of a block, the last of which is go run for the
// server.
func start(t *testing.T, m module, b block) *process.Server {
	t.Helper()
	commands := b.shell()
	last := strings.Fields(commands[len(commands)-1])
	if len(last) != 5 || last[0] != "go" || last[1] != "run" || last[3] != "localhost:8080" {
		t.Fatalf("README.md starts the server by %q", last)
	}
	for _, command := range commands[:len(commands)-1] {
		m.run(t, "sh", "-c", command)
	}
	binary := filepath.Join(t.TempDir(), "server")
	m.run(t, "go", "build", "-o", binary, last[2])
	return process.Start(t, binary, "127.0.0.1:0", filepath.Join(t.TempDir(), last[4]))
}

// twice sends the request of a curl command twice, by curl where there is one:
// the second answer is the replay of the first.
func twice(t *testing.T, server *process.Server, command string) {
	t.Helper()
	status, header, body := curl(t, server, command)
	again, second, replay := curl(t, server, command)
	if status != 201 || header.Get("Location") != "/v1/orders/1" || header.Get("Idempotency-Replayed") != "" {
		t.Errorf("%s: %d %v %s, want 201", command, status, header, body)
	}
	if again != status || replay != body || second.Get("Location") != "/v1/orders/1" || second.Get("Idempotency-Replayed") != "true" {
		t.Errorf("%s once more: %d %v %s, want the first answer", command, again, second, replay)
	}
}

var (
	curlURL    = regexp.MustCompile(`^curl -i (\S+)`)
	curlHeader = regexp.MustCompile(`-H '([^:']+): ([^']*)'`)
	curlData   = regexp.MustCompile(`-d '([^']*)'`)
)

// curl runs a curl -i command against the server. Machines without curl send
// the request that they read from it.
func curl(t *testing.T, server *process.Server, command string) (int, http.Header, string) {
	t.Helper()
	url, data := curlURL.FindStringSubmatch(command), curlData.FindStringSubmatch(command)
	if url == nil || data == nil || !strings.HasPrefix(url[1], "localhost:8080/") {
		t.Fatalf("README.md has the request %q", command)
	}
	here := server.URL + strings.TrimPrefix(url[1], "localhost:8080")
	if _, err := exec.LookPath("curl"); err == nil {
		shell := exec.Command("sh", "-c", strings.Replace(command, url[1], here, 1))
		out, err := shell.Output() // without the progress, which is on stderr
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return answered(t, out)
	}
	r, err := http.NewRequest("POST", here, strings.NewReader(data[1]))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range curlHeader.FindAllStringSubmatch(command, -1) {
		r.Header.Set(h[1], h[2])
	}
	return send(t, r)
}
