package generate

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/tools/txtar"

	"github.com/idemgen/idemgen/internal/source"
	"github.com/idemgen/idemgen/internal/spec"
	"github.com/idemgen/idemgen/templates"
)

var update = flag.Bool("update", false, "write the golden files anew")

// wanted is where a case keeps the files that it expects.
const wanted = "want/"

// testCase is one txtar file: a tree of input, and under want/ the output.
type testCase struct {
	name    string
	file    string
	archive *txtar.Archive
}

func readCases(t *testing.T, folder string) []testCase {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in testdata/%s: %v", folder, err)
	}
	var cases []testCase
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, testCase{strings.TrimSuffix(filepath.Base(file), ".txtar"), file, archive})
	}
	return cases
}

// input writes the input of a case into a folder.
func (c testCase) input(t *testing.T, folder string) {
	t.Helper()
	for _, f := range c.archive.Files {
		if !strings.HasPrefix(f.Name, wanted) {
			writeFile(t, filepath.Join(folder, f.Name), string(f.Data))
		}
	}
}

// want is the content of an expected file.
func (c testCase) want(name string) []byte {
	for _, f := range c.archive.Files {
		if f.Name == wanted+name {
			return f.Data
		}
	}
	return nil
}

// rewrite replaces the expected files of a case.
func (c testCase) rewrite(t *testing.T, files ...txtar.File) {
	t.Helper()
	var kept []txtar.File
	for _, f := range c.archive.Files {
		if !strings.HasPrefix(f.Name, wanted) {
			kept = append(kept, f)
		}
	}
	for _, f := range files {
		kept = append(kept, txtar.File{Name: wanted + f.Name, Data: f.Data})
	}
	content := txtar.Format(&txtar.Archive{Comment: c.archive.Comment, Files: kept})
	if err := os.WriteFile(c.file, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// newModule makes a module that uses this repository, and returns its folder.
func newModule(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(folder, "go.mod"), fmt.Sprintf(`module example.test

go 1.26.0

require github.com/idemgen/idemgen v0.0.0

replace github.com/idemgen/idemgen => %s
`, filepath.ToSlash(root)))
	return folder
}

// goEnv is the environment of the go command in tests: without network and
// without the workspace of this repository.
func goEnv() []string {
	return append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local")
}

// moduleConfig is how a module of newModule is generated.
func moduleConfig(module string) Config {
	return Config{Config: source.Config{Dir: module, Env: goEnv()}}
}

func writeFile(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tree reads all files below a folder, by slash-separated relative path.
func tree(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		relative, _ := filepath.Rel(folder, path)
		files[filepath.ToSlash(relative)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestGolden generates all cases in one module, compares, and lets the go
// command compile and vet what was generated. Some cases have tests that drive
// the generated servers.
func TestGolden(t *testing.T) {
	t.Parallel()
	module := newModule(t)
	cases := readCases(t, "golden")
	for _, c := range cases {
		c.input(t, filepath.Join(module, c.name))
	}
	result, err := Generate(context.Background(), Config{Config: source.Config{Dir: module, Tags: "special", Env: goEnv()}}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := result.Write(); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.compare(t, module, result) })
	}
	runGo(t, module, "vet", "-tags=special", "./...")
	runGo(t, module, "test", "./served", "./receivers")
}

// runGo runs the go command in a folder; it must succeed.
func runGo(t *testing.T, folder string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = folder, goEnv()
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, output)
	}
}

// compare compares the idem_gen.go files of a case with the expected ones. The
// content of ledgers is tested in package queries.
func (c testCase) compare(t *testing.T, module string, result *Result) {
	got := map[string][]byte{}
	prefix := filepath.Join(module, c.name) + string(filepath.Separator)
	for file, content := range result.Files {
		inside, ok := strings.CutPrefix(file, prefix)
		if ok && filepath.Base(file) == templates.FileName {
			got[filepath.ToSlash(inside)] = content
		}
	}
	if *update {
		var files []txtar.File
		for _, name := range slices.Sorted(maps.Keys(got)) {
			files = append(files, txtar.File{Name: name, Data: got[name]})
		}
		c.rewrite(t, files...)
		return
	}
	if len(got) == 0 {
		t.Error("nothing was generated")
	}
	for name, content := range got {
		if want := c.want(name); !bytes.Equal(want, content) {
			t.Errorf("run with -update if this is right:\n%s", diff.Diff("want/"+name, want, "got", content))
		}
	}
	for _, f := range c.archive.Files {
		if name, ok := strings.CutPrefix(f.Name, wanted); ok && got[name] == nil {
			t.Errorf("%s was not generated", name)
		}
	}
}

// TestProblems generates cases that must fail, each in a module of its own, and
// compares what is said.
func TestProblems(t *testing.T) {
	for _, c := range readCases(t, "errors") {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			module := newModule(t)
			c.input(t, module)
			before := tree(t, module)
			_, err := Generate(context.Background(), moduleConfig(module), "./...")
			problems, ok := err.(spec.Problems)
			if !ok {
				t.Fatalf("got %v, want problems", err)
			}
			for _, p := range problems {
				if !p.Pos.IsValid() || p.Code == "" {
					t.Errorf("problem without position or code: %v", p)
				}
			}
			got := strings.ReplaceAll(problems.Error(), module, "MODULE") + "\n"
			if *update {
				c.rewrite(t, txtar.File{Name: "problems", Data: []byte(got)})
			} else if want := string(c.want("problems")); got != want {
				t.Errorf("run with -update if this is right:\ngot:\n%swant:\n%s", got, want)
			}
			sameTree(t, before, tree(t, module))
		})
	}
}

func sameTree(t *testing.T, before, after map[string]string) {
	t.Helper()
	for name := range after {
		if _, ok := before[name]; !ok {
			t.Errorf("%s came into being", name)
		}
	}
	for name, content := range before {
		if now, ok := after[name]; !ok {
			t.Errorf("%s is gone", name)
		} else if now != content {
			t.Errorf("%s has changed", name)
		}
	}
}
