package module_test

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/process"
)

// exitCode runs idemgen, which may fail.
func (m module) exitCode(t *testing.T, args ...string) (int, string) {
	t.Helper()
	out, err := process.Try(m.dir, m.env, idemgen, args...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode(), out
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0, out
}

func (m module) wantCode(t *testing.T, code int, part string, args ...string) {
	t.Helper()
	if got, out := m.exitCode(t, args...); got != code || !strings.Contains(out, part) || part == "" && out != "" {
		t.Errorf("idemgen %s: exit code %d and\n%s\nwant %d and %q", strings.Join(args, " "), got, out, code, part)
	}
}

// TestGoGenerate: the directive of the README works, and check agrees with it
// until somebody edits.
func TestGoGenerate(t *testing.T) {
	t.Parallel()
	m := newModule(t, map[string]string{"orders.go": readmeFile(t, "orders.go")})
	m.wantCode(t, 1, "idem_gen.go is missing", "check", "./...")
	m.run(t, "go", "generate", "./...")
	generated := m.output(t)
	m.wantCode(t, 0, "", "check", "./...")
	m.wantCode(t, 0, "", "check")
	m.wantCode(t, 2, "nowhere", "check", "./nowhere")
	m.wantCode(t, 2, "nowhere", "./nowhere")
	m.wantCode(t, 2, "unknown flag", "check", "--nonsense")

	for name, content := range generated {
		m.write(t, name, strings.Replace(content, "\n\n", "\n\n\n", 1))
	}
	code, diff := m.exitCode(t, "check", "./...")
	for name, content := range generated {
		if code != 1 || !strings.Contains(diff, "--- a/"+name+"\n+++ b/"+name+"\n") {
			t.Errorf("check: exit code %d and\n%s\nwant 1 and the edit of %s", code, diff, name)
		}
		m.write(t, name, content)
	}
	m.write(t, "orders.go", strings.Replace(m.read(t, "orders.go"), "lease 30s", "lease 1h", 1))
	m.wantCode(t, 1, "+\tLease:        time.Hour,\n", "check", "./...")
	m.write(t, "orders.go", strings.Replace(m.read(t, "orders.go"), "lease 1h", "lease 1hour", 1))
	m.wantCode(t, 2, "orders.go:", "check", "./...")
	m.wantCode(t, 1, "orders.go:", "./...")
	same(t, m.output(t), generated)
}

// TestNamesBeforeGeneration: a checkout without its generated files generates
// them, though all the other files use their names.
func TestNamesBeforeGeneration(t *testing.T) {
	t.Parallel()
	m := newModule(t, map[string]string{
		"orders.go":        readmeFile(t, "orders.go"),
		"cmd/shop/main.go": readmeFile(t, "cmd/shop/main.go"),
		"mount.go": `package orders

import (
	"net/http"

	"example.com/orders/ledger"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

var _ *sqlledger.Ledger = (*sqlledger.Ledger)(nil)

// Mount mounts the server, whose type is generated.
func Mount(mux *http.ServeMux, s *OrdersServer) {
	mux.Handle("/v1/", s)
	mux.Handle("/create", s.Create)
}

// Schema is generated, too.
var Schema = ledger.Schema

// New passes on.
func New(impl Orders, keys *sqlledger.Ledger, who runtime.PrincipalFunc) (*OrdersServer, error) {
	return NewOrdersServer(impl, keys, who)
}
`,
		"mount_test.go": "package orders\n\nimport \"testing\"\n\nfunc TestMount(t *testing.T) { var s OrdersServer; _ = s.Cancel }\n",
	})
	m.run(t, "go", "generate", "./...")
	m.run(t, "go", "vet", "./...")
	m.wantCode(t, 0, "", "check", "./...")
}

// TestConflicts: what a merge left of the output is replaced, and needs no
// merging by hand.
func TestConflicts(t *testing.T) {
	t.Parallel()
	m := newOrders(t)
	m.run(t, idemgen, "./...")
	want := m.output(t)
	conflicts := []func(content string) string{
		func(content string) string { // below the header
			first, second, _ := strings.Cut(content, "\n\n")
			return first + "\n<<<<<<< HEAD\n" + second + "=======\n" + strings.ReplaceAll(second, "v1", "v3") + ">>>>>>> theirs\n"
		},
		func(content string) string { // around it
			return "<<<<<<< HEAD\n" + content + "=======\n" + strings.ReplaceAll(content, "v1", "v3") + ">>>>>>> theirs\n"
		},
	}
	for _, conflict := range conflicts {
		for name, content := range want {
			m.write(t, name, conflict(content))
		}
		if code, diff := m.exitCode(t, "check", "./..."); code != 1 || strings.Count(diff, "+++ b/") != len(want) {
			t.Errorf("check: exit code %d and\n%s", code, diff)
		}
		m.run(t, idemgen, "./...")
		same(t, m.output(t), want)
	}
	m.write(t, "idem_gen.go", "") // as a full disk leaves it
	m.run(t, idemgen, "./...")
	same(t, m.output(t), want)
}

// TestManyEndpoints: 200 endpoints are the same bytes each time, from whatever
// stands there.
func TestManyEndpoints(t *testing.T) {
	t.Parallel()
	m := newModule(t, nil)
	for i := range 20 {
		var b strings.Builder
		fmt.Fprintf(&b, "package many\n\nimport \"context\"\n\ntype In%d struct {\n\tID int64 `path:\"id\"`\n\tN int `json:\"n\"`\n}\n\n//idem:api prefix=/v%d\n//idem:ledger\ntype API%d interface {\n", i, i, i)
		for j := range 10 {
			fmt.Fprintf(&b, "\t// Do%d does it.\n\t//\n\t//idem:endpoint POST /do/%d/{id}\n\tDo%d(ctx context.Context, in In%d) (*In%d, error)\n\n", j, j, j, i, i)
		}
		b.WriteString("}\n")
		m.write(t, fmt.Sprintf("many/api%d.go", i), b.String())
	}
	m.run(t, idemgen, "./...")
	want := m.output(t)
	if n := strings.Count(want["many/idem_gen.go"], "runtime.Policy{"); n != 200 {
		t.Errorf("there are %d policies, want 200", n)
	}
	m.run(t, idemgen, "./...")
	same(t, m.output(t), want)
	m.clear(t)
	m.run(t, idemgen, "./...")
	same(t, m.output(t), want)
	m.run(t, "go", "vet", "./...")
}
