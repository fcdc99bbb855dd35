package source

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/idemgen/idemgen/internal/spec"
)

var update = flag.Bool("update", false, "write what the cases give into their files")

// A case is a txtar file in testdata: the Go files of one or more packages,
// and
//
//	want   the problems, as they are printed, with file names relative to the case
//	model  what was read of the packages, for cases without problems
//
// All cases are folders of one module and are loaded at once.
type sourceCase struct {
	name    string
	file    string
	archive *txtar.Archive
}

func readCases(t *testing.T) []sourceCase {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var cases []sourceCase
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, sourceCase{strings.TrimSuffix(filepath.Base(file), ".txtar"), file, archive})
	}
	return cases
}

// isExpectation reports whether a file of a case is not part of its source.
func isExpectation(name string) bool { return name == "want" || name == "model" }

// newModule writes a module that uses this one and returns its folder.
func newModule(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "go.mod"), "module example.com/cases\n\ngo 1.26\n\n"+
		"require github.com/idemgen/idemgen v0.0.0\n\n"+
		"replace github.com/idemgen/idemgen => "+root+"\n")
	// The packages of cases may use what this module uses.
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "go.sum"), string(sums))
	return dir
}

func writeFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// moduleEnv is the environment of the go command for modules of newModule.
func moduleEnv() []string { return append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off") }

var codeForm = regexp.MustCompile(`^IDEM\d{3}$`)

func TestCases(t *testing.T) {
	cases := readCases(t)
	dir := newModule(t)
	for _, c := range cases {
		for _, file := range c.archive.Files {
			if isExpectation(file.Name) {
				continue
			}
			content := string(file.Data)
			if strings.Contains(c.name, "crlf") {
				content = strings.ReplaceAll(content, "\n", "\r\n")
			}
			writeFile(t, filepath.Join(dir, c.name, file.Name), content)
		}
	}
	packages, problems, err := load(context.Background(), Config{Dir: dir, Env: moduleEnv()}, []string{"./..."})
	if err != nil {
		t.Fatal(err)
	}
	used := map[spec.Code]bool{}
	for _, problem := range problems {
		used[problem.Code] = true
		if pos := problem.Pos; !pos.IsValid() || pos.Column < 1 || pos.Filename == "" || filepath.IsAbs(pos.Filename) {
			t.Errorf("%s: the position is not a place in the source", problem.Message)
		}
		if other := problem.Other; other != nil && (!other.Pos.IsValid() || other.Pos.Filename == "" || other.Note == "") {
			t.Errorf("%s: the second place is not a place in the source: %+v", problem.Message, other)
		}
		if !codeForm.MatchString(problem.Code) {
			t.Errorf("%s: the code is %q", problem.Message, problem.Code)
		}
	}
	for _, rule := range spec.Rules() {
		// Rules of the output are broken by the cases of package generate.
		if !used[rule.Code] && rule.Code < spec.CodeNameTaken {
			t.Errorf("no case breaks the rule %s: %s", rule.Code, rule.Text)
		}
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.check(t, packages, problems) })
	}
}

// check compares what a case gave with what it wants.
func (c sourceCase) check(t *testing.T, packages []*spec.Package, problems spec.Problems) {
	own := slices.DeleteFunc(slices.Clone(problems), func(p spec.Problem) bool {
		return !strings.HasPrefix(p.Pos.Filename, c.name+"/")
	})
	got := map[string]string{}
	if len(own) > 0 {
		text := strings.ReplaceAll(own.Error(), c.name+"/", "")
		got["want"] = strings.ReplaceAll(text, "example.com/cases/", "") + "\n"
	} else {
		var b strings.Builder
		for _, pkg := range packages {
			if pkg.Path == "example.com/cases/"+c.name || strings.HasPrefix(pkg.Path, "example.com/cases/"+c.name+"/") {
				dumpPackage(&b, pkg)
			}
		}
		got["model"] = strings.ReplaceAll(b.String(), "example.com/cases/"+c.name, "case")
	}
	files := slices.DeleteFunc(slices.Clone(c.archive.Files), func(f txtar.File) bool { return !isExpectation(f.Name) })
	for _, file := range files {
		if got[file.Name] != string(file.Data) && !*update {
			t.Errorf("%s differs from what was found, which is:\n%s", file.Name, got[file.Name])
		}
	}
	for name := range got {
		if !*update && !slices.ContainsFunc(files, func(f txtar.File) bool { return f.Name == name }) {
			t.Errorf("the case has no %s; found:\n%s", name, got[name])
		}
	}
	if *update {
		c.write(t, got)
	}
}

// write puts what was found into the case's file.
func (c sourceCase) write(t *testing.T, got map[string]string) {
	kept := slices.DeleteFunc(slices.Clone(c.archive.Files), func(f txtar.File) bool { return isExpectation(f.Name) })
	for name, content := range got {
		kept = append(kept, txtar.File{Name: name, Data: []byte(content)})
	}
	if err := os.WriteFile(c.file, txtar.Format(&txtar.Archive{Comment: c.archive.Comment, Files: kept}), 0o644); err != nil {
		t.Fatal(err)
	}
}
