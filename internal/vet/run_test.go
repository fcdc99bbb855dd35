package vet

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func runVet(t *testing.T, dir string, patterns ...string) ([]Finding, error) {
	t.Helper()
	return Run(context.Background(), Config{Tool: tool, Dir: dir}, patterns...)
}

func TestRun(t *testing.T) {
	dir := newModule(t, "testdata/packages.txtar")
	findings, err := runVet(t, dir, "./...")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range findings {
		lines = append(lines, f.String()+" ["+f.Category+"]")
	}
	want := []string{
		`impl/impl.go:16:18: Take reads request header "X-Region", which is not in its fingerprint: a retry that differs in it would get the first answer; add it to //idem:fingerprint [header]`,
		`impl/impl.go:21:14: Note drops its context: context.Background() has neither its deadline nor its claim; hand on the handler's context, or context.WithoutCancel of it [context]`,
	}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the findings are\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// The name of the folder of temporary files may be relative to another folder
// than the one that is analyzed.
func TestRunWithARelativeTemporaryFolder(t *testing.T) {
	dir := newModule(t, "testdata/packages.txtar")
	t.Chdir(t.TempDir())
	if err := os.Mkdir("tmp", 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", "tmp")
	if _, err := runVet(t, dir, "./..."); err != nil {
		t.Error(err)
	}
}

func TestRunTrouble(t *testing.T) {
	dir := newModule(t, "testdata/packages.txtar")
	if err := os.WriteFile(filepath.Join(dir, "impl", "broken.go"), []byte("package impl\n\nvar x int = \"\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := runVet(t, dir, "./impl")
	if err == nil || !strings.Contains(err.Error(), "broken.go:3:13") {
		t.Errorf("the error is %v", err)
	}
	if _, err := runVet(t, dir, "./missing"); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("the error is %v", err)
	}
}

// TestExample holds the analyzer to its promise: no report on the example.
func TestExample(t *testing.T) {
	t.Setenv("GOWORK", "off")
	findings, err := runVet(t, filepath.Join("..", "..", "example"), "./orders/...")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Error(f)
	}
}

func TestSplitPosition(t *testing.T) {
	for posn, want := range map[string]Finding{
		"a.go:3:7":     {File: "a.go", Line: 3, Col: 7},
		`C:\a.go:12:1`: {File: `C:\a.go`, Line: 12, Col: 1},
		"odd:name:4:5": {File: "odd:name", Line: 4, Col: 5},
		"-":            {File: "-"},
	} {
		file, line, col := splitPosition(posn)
		if got := (Finding{File: file, Line: line, Col: col}); got != want {
			t.Errorf("%s: %+v, want %+v", posn, got, want)
		}
	}
}
