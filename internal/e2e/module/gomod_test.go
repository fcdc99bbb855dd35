package module_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/process"
)

const idemgenPath = "github.com/idemgen/idemgen"

// requirement is a line of go.mod.
type requirement struct {
	Path, Version string
	Indirect      bool
}

func (m module) requirements(t *testing.T) []requirement {
	t.Helper()
	var file struct{ Require []requirement }
	if err := json.Unmarshal([]byte(m.run(t, "go", "mod", "edit", "-json")), &file); err != nil {
		t.Fatal(err)
	}
	return file.Require
}

// sums are the paths of the modules in go.sum.
func (m module) sums(t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(m.dir, "go.sum"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var paths []string
	for line := range strings.Lines(string(content)) {
		paths = append(paths, strings.Fields(line)[0])
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// wantOneLine demands that go.mod requires idemgen and nothing else.
func (m module) wantOneLine(t *testing.T) {
	t.Helper()
	if got := m.requirements(t); len(got) != 1 || got[0].Path != idemgenPath {
		t.Errorf("go.mod requires %v, want %s alone", got, idemgenPath)
	}
}

// TestRuntimeIsOneLine: what imports the runtime requires one module, and
// verifies none beside it.
//
// Origin: https://github.com/oapi-codegen/oapi-codegen/issues/1142
func TestRuntimeIsOneLine(t *testing.T) {
	t.Parallel()
	m := emptyModule(t)
	m.write(t, "a.go", "package a\n\nimport _ \"github.com/idemgen/idemgen/runtime\"\n")
	m.run(t, "go", "mod", "init", "example.com/a")
	m.run(t, "go", "mod", "edit", "-require="+idemgenPath+"@v0.0.0", "-replace="+idemgenPath+"="+process.Root(t))
	m.run(t, "go", "mod", "tidy")
	m.wantOneLine(t)
	if sums := m.sums(t); len(sums) > 0 {
		t.Errorf("go.sum has %v", sums)
	}
	m.with("GOFLAGS=-mod=readonly").run(t, "go", "build", "./...")
}

// TestRuntimeIsStandardLibrary: the packages that end up in a user's program
// depend on the standard library and each other.
//
// Origin: https://github.com/oapi-codegen/oapi-codegen/issues/1142
func TestRuntimeIsStandardLibrary(t *testing.T) {
	t.Parallel()
	root := module{process.Root(t), process.Env("GOPROXY=off")}
	out := root.run(t, "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}",
		"./runtime", "./runtime/sqlledger", "./runtime/memory")
	for _, path := range strings.Fields(out) {
		if path != idemgenPath+"/runtime" && !strings.HasPrefix(path, idemgenPath+"/runtime/") {
			t.Errorf("the runtime depends on %s", path)
		}
	}
	for _, path := range strings.Fields(root.run(t, "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./runtime")) {
		if path != idemgenPath+"/runtime" && !strings.HasPrefix(path, idemgenPath+"/runtime/internal/") {
			t.Errorf("package runtime depends on %s", path)
		}
	}
}

// TestLightWay: go get and go run @latest add one line to go.mod, and to go.sum
// the sums of idemgen itself. Generated code, its ledger included, needs no
// more; the driver is the user's.
//
// Origin: https://github.com/golang/go/issues/48429
func TestLightWay(t *testing.T) {
	t.Parallel()
	m := published(t)
	m.run(t, "go", "mod", "init", "example.com/orders")
	m.write(t, "orders.go", readmeFile(t, "orders.go"))
	m.runBlock(t, "light")
	m.wantOneLine(t)
	m.run(t, "go", "mod", "tidy")
	m.wantOneLine(t)
	if sums := m.sums(t); !slices.Equal(sums, []string{idemgenPath}) {
		t.Errorf("go.sum has %v, want %s alone", sums, idemgenPath)
	}
	m.run(t, "go", "build", "./...")

	for _, path := range strings.Fields(m.run(t, "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./...")) {
		if !strings.HasPrefix(path, idemgenPath+"/runtime") && !strings.HasPrefix(path, "example.com/orders") {
			t.Errorf("generated code depends on %s", path)
		}
	}
}

// TestToolWay: go get -tool lists what the generator needs, as indirect lines,
// and generates the same.
//
// Origin: https://github.com/vektra/mockery/pull/612
// Origin: https://github.com/golang/go/issues/48429
// Origin: https://github.com/sqlc-dev/sqlc/issues/3018
func TestToolWay(t *testing.T) {
	t.Parallel()
	m := published(t)
	m.run(t, "go", "mod", "init", "example.com/orders")
	m.write(t, "orders.go", readmeFile(t, "orders.go"))
	m.runBlock(t, "tool")
	generated := m.output(t)
	m.run(t, "go", "build", "./...")

	// Idemgen itself is an indirect line, too, until go mod tidy meets the
	// generated code.
	var got []string
	for _, r := range m.requirements(t) {
		if got = append(got, r.Path); !r.Indirect {
			t.Errorf("the line of %s is not indirect", r.Path)
		}
	}
	// What only the runtime's ledgers need (pgx) is not among them.
	want := map[string]bool{idemgenPath: true}
	root := module{process.Root(t), process.Env()}
	for _, path := range strings.Fields(root.run(t, "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./cmd/idemgen")) {
		want[path] = true
	}
	for _, path := range got {
		if !want[path] && path != "github.com/inconshreveable/mousetrap" { // cobra's, on Windows
			t.Errorf("go.mod requires %s, which the generator does not need", path)
		}
		delete(want, path)
	}
	for path := range want {
		t.Errorf("go.mod does not require %s, which the generator needs", path)
	}

	m.clear(t)
	m.run(t, idemgen, "./...")
	same(t, m.output(t), generated)
}

// TestSeparateModFile: with the generator in a go.mod of its own, beside the
// module's, the module requires what generated code needs and nothing else.
//
// Origin: https://github.com/golang/go/issues/48429
func TestSeparateModFile(t *testing.T) {
	t.Parallel()
	m := published(t)
	m.run(t, "go", "mod", "init", "example.com/orders")
	m.write(t, "orders.go", readmeFile(t, "orders.go"))
	m.write(t, "tools.mod", m.read(t, "go.mod"))
	m.run(t, "go", "get", "-modfile=tools.mod", "-tool", idemgenPath+"/cmd/idemgen")
	m.run(t, "go", "get", idemgenPath)
	m.run(t, "go", "tool", "-modfile=tools.mod", "idemgen", "./...")
	m.run(t, "go", "mod", "tidy")
	m.wantOneLine(t)
	m.run(t, "go", "build", "./...")

	generated := m.output(t)
	m.clear(t)
	m.run(t, idemgen, "./...")
	same(t, m.output(t), generated)
}

// TestBesideModule: the generator runs from its own module on one that does not
// know it, as go run -C and built binaries do.
//
// Origin: https://github.com/open-policy-agent/opa/issues/9160
// Origin: https://github.com/uber-go/mock/issues/80
func TestBesideModule(t *testing.T) {
	t.Parallel()
	m := newModule(t, map[string]string{"orders.go": readmeFile(t, "orders.go")})
	m.run(t, "go", "mod", "edit", "-droptool="+idemgenPath+"/cmd/idemgen")
	before := m.read(t, "go.mod")
	process.Run(t, process.Root(t), process.Env(), "go", "run", "./cmd/idemgen", "-C", m.dir, "./...")
	generated := m.output(t)
	m.clear(t)
	m.run(t, idemgen, "./...")
	same(t, m.output(t), generated)
	if after := m.read(t, "go.mod"); after != before {
		t.Errorf("generation changed go.mod:\n%s", after)
	}
}

// runBlock runs the commands of the README's block.
func (m module) runBlock(t *testing.T, name string) {
	t.Helper()
	for _, b := range readme(t) {
		if b.kind == "run" && b.name == name {
			m.run(t, "sh", "-e", "-c", b.text)
			return
		}
	}
	t.Fatalf("README.md has no commands named %s", name)
}
