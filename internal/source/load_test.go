package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/spec"
)

// orders is a package with one endpoint.
const orders = `package orders

import "context"

//idem:api
type Orders interface {
	//idem:endpoint POST /orders
	Create(ctx context.Context, in In) error
}

type In struct{ Text string }
`

// writeFiles writes files, given as name and content in turn, into a module.
func writeFiles(t *testing.T, dir string, namesAndContents ...string) {
	t.Helper()
	for pair := range slices.Chunk(namesAndContents, 2) {
		writeFile(t, filepath.Join(dir, pair[0]), pair[1])
	}
}

func TestLoadWithoutPatternsLoadsTheDirectory(t *testing.T) {
	dir := newModule(t)
	writeFiles(t, dir, "orders/orders.go", orders)
	packages, err := Load(context.Background(), Config{Dir: filepath.Join(dir, "orders"), Env: moduleEnv()})
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) != 1 || packages[0].Path != "example.com/cases/orders" || len(packages[0].APIs) != 1 {
		t.Errorf("loaded %+v", packages)
	}
	if packages[0].Dir != filepath.Join(dir, "orders") {
		t.Errorf("the directory is %s", packages[0].Dir)
	}
}

// A dependency that does not compile has no export data; its types come from
// its source then.
//
// Origin: https://github.com/golang/go/issues/66603
func TestLoadWithADependencyThatDoesNotCompile(t *testing.T) {
	dir := newModule(t)
	writeFiles(t, dir,
		"dto/dto.go", "package dto\n\ntype In struct {\n\tID string `path:\"id\"`\n}\n\nvar broken int = undefined\n",
		"orders/orders.go", withDTO)
	packages, err := Load(context.Background(), Config{Dir: dir, Env: moduleEnv()}, "./orders")
	if err != nil {
		t.Fatal(err)
	}
	in := packages[0].APIs[0].Endpoints[0].In
	if len(in.Fields) != 1 || in.Fields[0].Selector != "ID" || in.Fields[0].Kind != spec.String {
		t.Errorf("the request was read as %+v", in)
	}
}

// readsSources reports whether the dependencies of a loaded package were read
// from their sources: export data has no unexported functions.
func readsSources(t *testing.T, p *spec.Package) bool {
	t.Helper()
	for _, imported := range p.Types.Imports() {
		if imported.Path() == "context" {
			return imported.Scope().Lookup("parentCancelCtx") != nil
		}
	}
	t.Fatal("the package does not import context")
	return false
}

// Output that stands, sound, stale or broken, does not cost the export data of
// the dependencies, which is several times as fast as their sources. Generating
// again is what happens most often.
func TestLoadWithOutputReadsExportData(t *testing.T) {
	for name, content := range map[string]string{
		"sound":      Header + "\n\npackage orders\n\ntype OrdersServer struct{}\n",
		"stale":      Header + "\n\npackage orders\n\nimport \"example.com/cases/gone\"\n\nvar _ gone.Type\n",
		"unresolved": Header + "\n\npackage orders\n\nvar _ Gone = gone()\n",
		"conflict":   Header + "\n\npackage orders\n<<<<<<< HEAD\n=======\n>>>>>>> other\n",
		"renamed":    Header + "\n\npackage another\n",
		"empty":      "",
	} {
		dir := newModule(t)
		writeFiles(t, dir, "orders/orders.go", orders, "orders/idem_gen.go", content)
		packages, err := Load(context.Background(), Config{Dir: dir, Env: moduleEnv()}, "./...")
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if readsSources(t, packages[0]) {
			t.Errorf("%s: the dependencies were read from their sources", name)
		}
	}
}

// The output of another package is as broken as our own may be.
func TestLoadWithBrokenOutputEverywhere(t *testing.T) {
	dir := newModule(t)
	conflict := "<<<<<<< HEAD\n" + Header + "\n\npackage orders\n=======\n" + Header + "\n>>>>>>> other\n"
	writeFiles(t, dir,
		"a/a.go", strings.Replace(orders, "package orders", "package a", 1), "a/idem_gen.go", conflict,
		"b/b.go", strings.NewReplacer("package orders", "package b", "in In", "in a.In", `import "context"`, "import (\n\t\"context\"\n\n\t\"example.com/cases/a\"\n)\n\nvar _ a.OrdersServer").Replace(orders), "b/idem_gen.go", conflict)
	for _, patterns := range [][]string{{"./..."}, {"./b"}, {"example.com/cases/b"}, {"example.com/cases/..."}, {filepath.Join(dir, "b")}} {
		packages, err := Load(context.Background(), Config{Dir: dir, Env: moduleEnv()}, patterns...)
		if err != nil {
			t.Errorf("%v: %v", patterns, err)
			continue
		}
		if last := packages[len(packages)-1]; last.Name != "b" || len(last.APIs) != 1 {
			t.Errorf("%v: loaded %+v", patterns, last)
		}
	}
}

// Origin: https://github.com/glycerine/zebrapack/issues/2
func TestLoadTrouble(t *testing.T) {
	dir := newModule(t)
	writeFiles(t, dir,
		"orders/orders.go", orders,
		"empty/README", "nothing",
		"plain/plain.go", "package plain\n",
		"mixed/a.go", "package a\n", "mixed/b.go", "package b\n",
		"tests/x_test.go", "package tests\n",
		"tagged/orders.go", "//go:build special\n\n"+orders, "tagged/doc.go", "package orders\n",
		"broken/orders.go", "pakage orders\n")
	for _, c := range []struct {
		pattern string
		want    []string
	}{
		{"./missing", []string{"missing", "directory not found"}},
		{"./empty", []string{"no Go files in", "empty"}},
		{"./tests", []string{"example.com/cases/tests", "no"}},
		{"./nothing/...", []string{"./nothing/..."}},
		{"./orders/orders.go", []string{"./orders/orders.go is a file", "such as ./orders"}},
		{"example.org/elsewhere", []string{"example.org/elsewhere"}},
		{"bad pattern!", []string{"bad pattern!"}},
		{"./plain", []string{"no annotated interface in ./plain", "//idem:api"}},
		{"./mixed", []string{"found packages a (a.go) and b (b.go)"}},
		{"./tagged", []string{"tagged/orders.go has directives, but its build constraint excludes it", "-tags"}},
		{"./broken", []string{"orders.go:1:1", "expected 'package'"}},
	} {
		packages, err := Load(context.Background(), Config{Dir: dir, Env: moduleEnv()}, c.pattern)
		if err == nil || packages != nil {
			t.Errorf("%s: no error, loaded %v", c.pattern, packages)
			continue
		}
		if problems := (spec.Problems)(nil); errors.As(err, &problems) != (c.pattern == "./broken") {
			t.Errorf("%s: the error is of type %T: %v", c.pattern, err, err)
		}
		for _, part := range c.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error lacks %q: %v", c.pattern, part, err)
			}
		}
	}
}

func TestLoadTags(t *testing.T) {
	dir := newModule(t)
	writeFiles(t, dir, "orders.go", "//go:build special && extra\n\n"+orders, "doc.go", "package orders\n")
	packages, err := Load(context.Background(), Config{Dir: dir, Env: moduleEnv(), Tags: "special,extra"})
	if err != nil {
		t.Fatal(err)
	}
	if got := packages[0].BuildConstraint; got != "special && extra" {
		t.Errorf("the constraint is %q", got)
	}
}

func TestLoadOutsideAModule(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, "orders.go", orders)
	env := append(moduleEnv(), "GO111MODULE=on", "GOFLAGS=")
	packages, err := Load(context.Background(), Config{Dir: dir, Env: env})
	if err == nil {
		t.Fatalf("loaded %v", packages)
	}
	if !strings.Contains(err.Error(), "go.mod") {
		t.Errorf("the error does not say what is missing: %v", err)
	}
}

func TestLoadEndsWithItsContext(t *testing.T) {
	dir := newModule(t)
	writeFiles(t, dir, "orders.go", orders)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if packages, err := Load(ctx, Config{Dir: dir, Env: moduleEnv()}); err == nil {
		t.Errorf("loaded %v", packages)
	}
}

// Positions are relative to the directory that the command runs in; outside of
// it they are absolute.
func TestLoadPositions(t *testing.T) {
	dir := newModule(t)
	broken := strings.Replace(orders, "POST /orders", "GET /orders", 1)
	writeFiles(t, dir, "a/a.go", broken, "b/c/c.go", broken)
	_, err := Load(context.Background(), Config{Dir: filepath.Join(dir, "b"), Env: moduleEnv()}, "../a", "./c")
	problems := spec.Problems{}
	if !errors.As(err, &problems) || len(problems) != 2 {
		t.Fatalf("the error is %v", err)
	}
	if got, want := problems[0].Pos.String(), filepath.ToSlash(filepath.Join(dir, "a/a.go"))+":7:18"; got != want {
		t.Errorf("above the directory the position is %s, want %s", got, want)
	}
	if got := problems[1].Pos.String(); got != "c/c.go:7:18" {
		t.Errorf("in the directory the position is %s", got)
	}
}

func TestTaken(t *testing.T) {
	dir := newModule(t)
	writeFiles(t, dir,
		"dot/dot.go", "package dot\n\nfunc Dotted() {}\n\nfunc hidden() {}\n",
		"orders/orders.go", strings.Replace(orders, `import "context"`, "import (\n\t\"context\"\n\thttp \"net/url\"\n\t_ \"embed\"\n\n\t. \"example.com/cases/dot\"\n)\n\nvar variable http.URL\n\nconst constant = 1\n\nfunc function() { Dotted() }\n\nfunc (In) method() {}", 1),
		"orders/other_test.go", "package orders\n\nimport \"strings\"\n\nvar inTest strings.Builder\n",
		"orders/external_test.go", "package orders_test\n\nvar external int\n",
		"orders/tagged.go", "//go:build never\n\npackage orders\n\ntype excluded int\n",
		"orders/idem_gen.go", Header+"\n\npackage orders\n\ntype OrdersServer struct{}\n")
	packages, err := Load(context.Background(), Config{Dir: dir, Env: moduleEnv()}, "./orders")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for name := range packages[0].Taken {
		got = append(got, name)
	}
	slices.Sort(got)
	want := []string{"Dotted", "In", "Orders", "constant", "context", "excluded", "function", "http", "inTest", "strings", "variable"}
	if !slices.Equal(got, want) {
		t.Errorf("taken are %v\nwant      %v", got, want)
	}
}

// withDTO is an interface whose request is of another package.
var withDTO = strings.NewReplacer("/orders\n", "/orders/{id}\n", "in In", "in dto.In",
	`import "context"`, "import (\n\t\"context\"\n\n\t\"example.com/cases/dto\"\n)").Replace(orders)

// Export data of a go command that is newer than this program cannot be read;
// types come from the sources then.
//
// Origin: https://github.com/vektra/mockery/issues/1171
func TestLoadWithUnreadableExportData(t *testing.T) {
	dir := newModule(t)
	log, garbage := filepath.Join(t.TempDir(), "log"), filepath.Join(t.TempDir(), "export")
	writeFiles(t, dir, "dto/dto.go", "package dto\n\ntype In struct {\n\tID string `path:\"id\"`\n}\n", "orders/orders.go", withDTO)
	writeFile(t, garbage, "go object of a version to come")
	packages, err := Load(context.Background(), Config{Dir: dir, Env: driverEnv(t, log, garbage)}, "./orders")
	if err != nil {
		t.Fatal(err)
	}
	if in := packages[0].APIs[0].Endpoints[0].In; len(in.Fields) != 1 || in.Fields[0].Selector != "ID" {
		t.Errorf("the request was read as %+v", in)
	}
	if !readsSources(t, packages[0]) {
		t.Error("the dependencies were not read from their sources")
	}
	requests, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(requests), "[pattern=./orders] listed\n[pattern=./orders] loaded\n[pattern=./orders] loaded with sources\n"; got != want {
		t.Errorf("the requests were\n%swant\n%s", got, want)
	}
}

// However many interfaces and packages there are, the go command is asked once
// for what the patterns match, and once for the types.
//
// Origin: https://github.com/vektra/mockery/issues/521
// Origin: https://github.com/golang/go/issues/66603
func TestOneLoad(t *testing.T) {
	dir := newModule(t)
	log := filepath.Join(t.TempDir(), "log")
	for i := range 10 {
		for j := range 3 {
			name := fmt.Sprintf("Orders%d", j)
			writeFile(t, filepath.Join(dir, fmt.Sprintf("p%d", i), fmt.Sprintf("orders%d.go", j)), strings.NewReplacer(
				"Orders", name, "In", fmt.Sprintf("In%d", j), "/orders\n", fmt.Sprintf("/orders%d\n", j)).Replace(orders))
		}
	}
	packages, err := Load(context.Background(), Config{Dir: dir, Env: driverEnv(t, log, "")}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) != 10 || len(packages[0].APIs) != 3 {
		t.Errorf("loaded %d packages, %d interfaces in the first", len(packages), len(packages[0].APIs))
	}
	requests, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(requests), "[pattern=./...] listed\n[pattern=./...] loaded\n"; got != want {
		t.Errorf("the requests were\n%swant\n%s", got, want)
	}
}

// A package for a newer Go than this program's generates as any other; what
// does not parse or resolve in it may be new, and the message says so.
//
// Origin: https://github.com/goforj/wire/issues/2
func TestLoadWithANewerGo(t *testing.T) {
	dir := newModule(t)
	const tag = "//go:build go1.99\n\n"
	writeFiles(t, dir,
		"good/orders.go", tag+orders,
		"unresolved/orders.go", tag+strings.Replace(orders, "in In", "in Im", 1),
		"syntax/orders.go", tag+orders+"\nfunc novelty() <> {}\n")
	cfg := Config{Dir: dir, Env: moduleEnv(), Tags: "go1.99"}
	if _, err := Load(context.Background(), cfg, "./good"); err != nil {
		t.Errorf("a newer package does not load: %v", err)
	}
	for pattern, message := range map[string]string{"./unresolved": "Create: undefined: Im", "./syntax": "expected "} {
		_, err := Load(context.Background(), cfg, pattern)
		const advice = "file requires newer Go version go1.99 (application built with go1."
		if err == nil || !strings.Contains(err.Error(), message) || !strings.Contains(err.Error(), advice) || !strings.Contains(err.Error(), "build idemgen again with the Go of the package") {
			t.Errorf("%s: %v, want %q and %q", pattern, err, message, advice)
		}
	}
}
