package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The table must follow the sources: what it replaces is there, once, and the
// tests that it names exist.
func TestTableIsCurrent(t *testing.T) {
	root := filepath.Join("..", "..")
	mutations := all()
	if len(mutations) < 40 {
		t.Errorf("%d mutations; at least 40 are promised", len(mutations))
	}
	seen, packages := map[string]bool{}, map[string]string{}
	for _, m := range mutations {
		name := m.file + ": " + m.what
		if seen[name] {
			t.Errorf("%s: stands there twice", name)
		}
		seen[name] = true
		text, err := os.ReadFile(filepath.Join(root, m.file))
		if err != nil {
			t.Error(err)
			continue
		}
		if changed, err := m.apply(string(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if changed == string(text) {
			t.Errorf("%s: changes nothing", name)
		} else if _, err := parser.ParseFile(token.NewFileSet(), m.file, changed, parser.SkipObjectResolution); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		dir := filepath.Join(root, m.test.module, m.test.pkg)
		if packages[dir] == "" {
			packages[dir] = testsOf(t, dir)
		}
		if function, _, _ := strings.Cut(m.test.name, "/"); !strings.Contains(packages[dir], "\nfunc "+function+"(") {
			t.Errorf("%s: %s declares no %s", name, dir, function)
		}
	}
}

// testsOf is the text of a package's tests.
func testsOf(t *testing.T, dir string) string {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// The page says of each mutation what became of it.
func TestMarkdown(t *testing.T) {
	page := markdown([]result{
		{mutation{what: "a | b", file: "x.go", test: runtimeTest("TestA")}, caught},
		{mutation{what: "c", file: "y.go", test: runtimeTest("TestB/case")}, survived},
	})
	for _, want := range []string{"2 breaks, 1 caught.", "## x.go", `| a \| b | ` + "`TestA` | caught |", "| c | `TestB/case` | SURVIVED |"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}
