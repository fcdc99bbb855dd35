package module_test

import (
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/process"
)

// TestAllowlistChange: a deploy that changes what joins the fingerprint
// changes the policy in the generated code and nothing else, and refuses no
// genuine retry of a key that was claimed before it.
func TestAllowlistChange(t *testing.T) {
	t.Parallel()
	const before, after = "//idem:fingerprint Content-Type\n", "//idem:fingerprint Content-Type X-Api-Version\n"
	source := readmeFile(t, "orders.go")
	// A header that fills a field has to join the fingerprint.
	field := regexp.MustCompile(`(?m)^.*header:"X-Api-Version".*\n`)
	if !strings.Contains(source, after) || !field.MatchString(source) {
		t.Fatalf("orders.go of the README has no %sor no field for it", after)
	}
	source = field.ReplaceAllString(source, "")
	m := newModule(t, map[string]string{
		"orders.go":        strings.Replace(source, after, before, 1),
		"cmd/shop/main.go": readmeFile(t, "cmd/shop/main.go"),
	})
	build := func(name string) (string, map[string]string) {
		m.run(t, idemgen, "./...")
		binary := filepath.Join(t.TempDir(), name)
		m.run(t, "go", "build", "-o", binary, "./cmd/shop")
		return binary, m.output(t)
	}
	old, oldOutput := build("old")
	m.write(t, "orders.go", source)
	deployed, newOutput := build("new")
	onlyPolicyLines(t, oldOutput, newOutput)

	file := filepath.Join(t.TempDir(), "shop.db")
	tea, coffee := `{"sku":"tea","qty":1}`, `{"sku":"coffee","qty":1}`
	server := process.Start(t, old, "127.0.0.1:0", file)
	first := order{"old", "application/json", "1", tea}.want(t, server, 201, false, "")
	order{"old", "application/json", "2", tea}.want(t, server, 201, true, first)
	order{"old", "application/json", "1", coffee}.want(t, server, 422, false, "")
	server.Kill()

	server = process.Start(t, deployed, "127.0.0.1:0", file)
	order{"old", "application/json", "1", tea}.want(t, server, 201, true, first)
	order{"old", "application/json", "2", tea}.want(t, server, 201, true, first)
	order{"old", "application/json", "", tea}.want(t, server, 201, true, first)
	order{"old", "application/json", "1", coffee}.want(t, server, 422, false, "")
	order{"old", "text/json", "1", tea}.want(t, server, 422, false, "")
	second := order{"new", "application/json", "1", tea}.want(t, server, 201, false, "")
	order{"new", "application/json", "1", tea}.want(t, server, 201, true, second)
	order{"new", "application/json", "2", tea}.want(t, server, 422, false, "")
	order{"new", "application/json", "1", coffee}.want(t, server, 422, false, "")
	server.Kill()

	// Nor does the deploy that takes it back.
	server = process.Start(t, old, "127.0.0.1:0", file)
	order{"old", "application/json", "2", tea}.want(t, server, 201, true, first)
	order{"new", "application/json", "1", tea}.want(t, server, 201, true, second)
	order{"new", "application/json", "2", tea}.want(t, server, 422, false, "")
}

// onlyPolicyLines demands that the outputs differ in one line: a Fingerprint of
// a policy.
func onlyPolicyLines(t *testing.T, before, after map[string]string) {
	t.Helper()
	changed := 0
	for name, content := range before {
		was, is := strings.Split(content, "\n"), strings.Split(after[name], "\n")
		if len(was) != len(is) {
			t.Fatalf("%s had %d lines and has %d", name, len(was), len(is))
		}
		for i := range was {
			if was[i] == is[i] {
				continue
			}
			changed++
			if name != "idem_gen.go" ||
				was[i] != "\tFingerprint:  runtime.Rule{Body: runtime.BodyRaw, Headers: []string{\"content-type\"}}," ||
				is[i] != "\tFingerprint:  runtime.Rule{Body: runtime.BodyRaw, Headers: []string{\"content-type\", \"x-api-version\"}}," {
				t.Errorf("%s:%d became\n%s\nfrom\n%s", name, i+1, is[i], was[i])
			}
		}
	}
	if changed != 1 || len(before) != len(after) {
		t.Errorf("%d lines changed, in %d files that became %d", changed, len(before), len(after))
	}
}

// order is one request for an order.
type order struct{ key, contentType, version, body string }

// want sends the order and returns the answer's body.
func (o order) want(t *testing.T, server *process.Server, status int, replayed bool, body string) string {
	t.Helper()
	r, err := http.NewRequest("POST", server.URL+"/v1/orders", strings.NewReader(o.body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer alice", "Idempotency-Key": o.key, "Content-Type": o.contentType, "X-Api-Version": o.version,
	} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	got, header, text := send(t, r)
	if got != status || (header.Get("Idempotency-Replayed") == "true") != replayed || body != "" && text != body {
		t.Fatalf("%+v: %d %v\n%s\nwant %d, replayed: %v, %s", o, got, header, text, status, replayed, body)
	}
	if status == 422 && !strings.Contains(text, "idempotency_key_reused") {
		t.Fatalf("%+v: %s", o, text)
	}
	return text
}
