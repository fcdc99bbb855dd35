package generate

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// largePackage is a package of 200 endpoints in 20 interfaces, a file each,
// with types of packages that are named alike.
func largePackage() map[string]string {
	files := map[string]string{"ledger.txt": "not Go\n"}
	for _, name := range []string{"x", "y", "z"} {
		files[name+"/shared/shared.go"] = "package shared\n\ntype In struct {\n\tN int `json:\"n\"`\n}\n"
	}
	for i := range 20 {
		var b strings.Builder
		fmt.Fprintf(&b, "package large\n\nimport (\n\t\"context\"\n\n\tx \"example.test/x/shared\"\n\ty \"example.test/y/shared\"\n\tz \"example.test/z/shared\"\n)\n\n")
		fmt.Fprintf(&b, "//idem:api prefix=/v%d\n//idem:ledger\ntype API%d interface {\n", i, i)
		for j := range 10 {
			pkg := []string{"x", "y", "z"}[(i+j)%3]
			fmt.Fprintf(&b, "\t// Do%d does it.\n\t//\n\t//idem:endpoint POST /do/%d\n\tDo%d(ctx context.Context, in *%s.In) (%s.In, error)\n\n", j, j, j, pkg, pkg)
		}
		b.WriteString("}\n")
		files[fmt.Sprintf("api%d.go", i)] = b.String()
	}
	return files
}

// Origin: https://github.com/kubernetes-sigs/cloud-provider-azure/issues/951
// Origin: https://github.com/uber-go/mock/issues/232
// Origin: https://github.com/ugorji/go/issues/101
func TestDeterminism(t *testing.T) {
	t.Parallel()
	files := largePackage()
	var names []string
	for name := range files {
		names = append(names, name)
	}
	var first map[string]string
	for round := range 2 {
		// Folders list their files in an order of their own, and the go
		// command may, too: a new module has them made in another order.
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		module := newModule(t)
		for _, name := range names {
			writeFile(t, filepath.Join(module, name), files[name])
		}
		generated(t, module, "./...")
		output := tree(t, module)
		delete(output, "go.mod") // it has the path of the repository
		if first == nil {
			first = output
		}
		sameTree(t, first, output)

		before := mustGenerate(t, module, ".").Files
		if err := os.Remove(filepath.Join(module, "idem_gen.go")); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(module, "ledger")); err != nil {
			t.Fatal(err)
		}
		after := mustGenerate(t, module, "./x/...", ".", "./...").Files
		if len(before) != len(after) {
			t.Errorf("round %d: %d files with output there, %d without", round, len(before), len(after))
		}
		for file, content := range before {
			if !bytes.Equal(content, after[file]) {
				t.Errorf("round %d: %s differs once it was deleted", round, file)
			}
		}
	}
	if n := strings.Count(first["idem_gen.go"], "runtime.Policy{"); n != 200 {
		t.Errorf("%d endpoints were generated, not 200", n)
	}
}

// TestOrderOfMethods: the names of imports do not depend on the order in which
// methods use them.
//
// Origin: https://github.com/uber-go/mock/issues/232
func TestOrderOfMethods(t *testing.T) {
	t.Parallel()
	const source = `package a

import (
	"context"

	x "example.test/x/shared"
	y "example.test/y/shared"
)

//idem:api
type API interface {
	%s

	%s
}
`
	first := "//idem:endpoint POST /1\n\tFirst(ctx context.Context, in x.In) error"
	second := "//idem:endpoint POST /2\n\tSecond(ctx context.Context, in y.In) error"
	imports := func(one, two string) string {
		module := newModule(t)
		for name, content := range largePackage() {
			if strings.HasSuffix(name, "shared.go") {
				writeFile(t, filepath.Join(module, name), content)
			}
		}
		writeFile(t, filepath.Join(module, "a.go"), fmt.Sprintf(source, one, two))
		generated(t, module)
		_, rest, _ := strings.Cut(tree(t, module)["idem_gen.go"], "import (")
		block, _, _ := strings.Cut(rest, ")")
		return block
	}
	a, b := imports(first, second), imports(second, first)
	if a != b {
		t.Errorf("the imports differ:\n%s\n%s", a, b)
	}
	if !strings.Contains(a, `yshared "example.test/y/shared"`) {
		t.Errorf("the imports are not as expected: %s", a)
	}
}
