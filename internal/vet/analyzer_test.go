package vet

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
	"golang.org/x/tools/txtar"
)

// tool is the program that go vet runs: idemgen, built without the race
// detector, so that go vet remembers what it has seen with it.
var tool string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "vet-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	tool = filepath.Join(dir, "idemgen")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", tool, "../../cmd/idemgen").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// newModule makes a module of the files of archives that uses this repository,
// and a stand-in for pgx.
func newModule(t *testing.T, archives ...string) string {
	t.Helper()
	for _, setting := range []string{"GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local"} {
		name, value, _ := strings.Cut(setting, "=")
		t.Setenv(name, value)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var files []txtar.File
	for _, archive := range archives {
		parsed, err := txtar.ParseFile(archive)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, parsed.Files...)
	}
	files = append(files, txtar.File{Name: "go.mod", Data: fmt.Appendf(nil, `module example.test

go 1.26.0

require (
	github.com/idemgen/idemgen v0.0.0
	github.com/jackc/pgx/v5 v5.0.0
)

replace github.com/idemgen/idemgen => %s

replace github.com/jackc/pgx/v5 => ./pgx
`, filepath.ToSlash(root))},
		txtar.File{Name: "pgx/go.mod", Data: []byte("module github.com/jackc/pgx/v5\n\ngo 1.26.0\n")},
		txtar.File{Name: "pgx/pgxpool/pool.go", Data: []byte(`// Package pgxpool stands in for pgx's own.
package pgxpool

import "context"

type Pool struct{}

func (*Pool) Exec(ctx context.Context, sql string, args ...any) error { return nil }

func (*Pool) Close() {}
`)})
	for _, f := range files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestAnalyzer runs all archives as one module; their comments say what is
// wanted.
func TestAnalyzer(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives", err)
	}
	found := map[string]bool{}
	for _, result := range analysistest.Run(t, newModule(t, archives...), Analyzer, "./...") {
		for _, d := range result.Diagnostics {
			found[Code(d.Category)] = true
		}
	}
	for _, rule := range Rules() {
		if !found[rule.Code] {
			t.Errorf("no case breaks the rule %s", rule.Code)
		}
		delete(found, rule.Code)
	}
	if len(found) > 0 {
		t.Errorf("findings without a rule in the table: %v", found)
	}
}
