package generate

import (
	"bytes"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/templates"
)

// generatedForm is what tools take for the mark of generated code.
var generatedForm = regexp.MustCompile(`^// Code generated .* DO NOT EDIT\.$`)

// TestOutput looks at every golden for what has no place in generated code:
// traces of the machine, the time, the command or the version that made it,
// words to other tools, and paths that are written otherwise on Windows.
//
// Origin: https://github.com/google/wire/issues/383
// Origin: https://github.com/sqlc-dev/sqlc/issues/3018
// Origin: https://github.com/a-h/templ/issues/123
// Origin: https://github.com/uber-go/mock/issues/80
// Origin: https://github.com/uber-go/mock/issues/118
// Origin: https://github.com/kubernetes-sigs/cloud-provider-azure/issues/951
// Origin: https://github.com/golangci/golangci-lint/issues/1083
// Origin: https://github.com/hashicorp/packer-plugin-sdk/issues/104
func TestOutput(t *testing.T) {
	for _, c := range readCases(t, "golden") {
		for _, f := range c.archive.Files {
			name, ok := strings.CutPrefix(f.Name, wanted)
			if !ok {
				continue
			}
			text := string(f.Data)
			first, _, _ := strings.Cut(text, "\n")
			if first != templates.Header || !generatedForm.MatchString(first) {
				t.Errorf("%s/%s: the first line is %q", c.name, name, first)
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, name, f.Data, parser.ParseComments)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			if !ast.IsGenerated(file) {
				t.Errorf("%s/%s is not recognised as generated", c.name, name)
			}
			for _, foreign := range []string{"\r", "go:generate", "nolint", "lint:", ".exe", "/tmp", "(devel)", "GOFLAGS"} {
				if strings.Contains(text, foreign) {
					t.Errorf("%s/%s has %q in it", c.name, name, foreign)
				}
			}
			if year := regexp.MustCompile(`\b20\d\d\b`).FindString(text); year != "" {
				t.Errorf("%s/%s has a date in it, %s", c.name, name, year)
			}
			for _, group := range file.Comments {
				for _, comment := range group.List {
					if folder, ok := strings.CutPrefix(comment.Text, templates.LedgerPrefix); ok && strings.ContainsAny(folder, `\:`) {
						t.Errorf("%s/%s names the folder %q", c.name, name, folder)
					}
				}
			}
		}
	}
}

// TestCRLFSources: git checks sources out with CRLF on some machines; what is
// generated from them is the same bytes.
//
// Origin: https://github.com/smallnest/gen/issues/111
func TestCRLFSources(t *testing.T) {
	t.Parallel()
	module := newModule(t)
	cases := readCases(t, "golden")
	for _, c := range cases {
		for _, f := range c.archive.Files {
			if !strings.HasPrefix(f.Name, wanted) {
				writeFile(t, filepath.Join(module, c.name, f.Name), strings.ReplaceAll(string(f.Data), "\n", "\r\n"))
			}
		}
	}
	cfg := moduleConfig(module)
	cfg.Tags = "special"
	result, err := Generate(context.Background(), cfg, "./...")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		for _, f := range c.archive.Files {
			if name, ok := strings.CutPrefix(f.Name, wanted); ok && !bytes.Equal(result.Files[filepath.Join(module, c.name, filepath.FromSlash(name))], f.Data) {
				t.Errorf("%s/%s is not what sources with LF give", c.name, name)
			}
		}
	}
	for file, content := range result.Files {
		if bytes.ContainsRune(content, '\r') {
			t.Errorf("%s has CR in it", file)
		}
	}
}

// TestPackagesAloneAndTogether: one run for all packages gives the same bytes
// as a run for each.
//
// Origin: https://github.com/matryer/moq/issues/178
func TestPackagesAloneAndTogether(t *testing.T) {
	t.Parallel()
	module := newModule(t)
	for _, c := range readCases(t, "golden") {
		c.input(t, filepath.Join(module, c.name))
	}
	cfg := moduleConfig(module)
	cfg.Tags = "special"
	together, err := Generate(context.Background(), cfg, "./...")
	if err != nil {
		t.Fatal(err)
	}
	alone := map[string][]byte{}
	for file := range together.Files {
		if filepath.Base(file) != templates.FileName {
			continue
		}
		one := cfg
		one.Dir = filepath.Dir(file)
		result, err := Generate(context.Background(), one)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(alone, result.Files)
	}
	if got, want := slices.Sorted(maps.Keys(alone)), slices.Sorted(maps.Keys(together.Files)); !slices.Equal(got, want) {
		t.Errorf("alone there are the files %s, together %s", got, want)
	}
	for file, content := range together.Files {
		if !bytes.Equal(alone[file], content) {
			t.Errorf("%s differs when its package is generated alone", file)
		}
	}
}

// TestOlderRuntime: generated code does not compile with a runtime that is older
// than its generator, and the line that fails says what to do.
//
// Origin: https://github.com/a-h/templ/issues/249
func TestOlderRuntime(t *testing.T) {
	t.Parallel()
	module := newModule(t)
	writeFile(t, filepath.Join(module, "a.go"), api("a"))
	generated(t, module)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(root, "runtime", "version.go")
	text, err := os.ReadFile(newer)
	if err != nil {
		t.Fatal(err)
	}
	older := filepath.Join(module, "older", "version.go.txt")
	writeFile(t, older, regexp.MustCompile(`(?m)^const IsAtLeast\w+ = true$`).ReplaceAllString(string(text), ""))
	overlay := filepath.Join(module, "older", "overlay.json")
	writeFile(t, overlay, `{"Replace": {`+quoted(newer)+`: `+quoted(older)+`}}`)

	build := exec.Command("go", "build", "-overlay="+overlay, ".")
	build.Dir, build.Env = module, goEnv()
	output, err := build.CombinedOutput()
	found := regexp.MustCompile(`idem_gen\.go:(\d+):\d+: undefined: runtime\.(IsAtLeastVersion\w+)`).FindStringSubmatch(string(output))
	if err == nil || found == nil {
		t.Fatalf("%v\n%s", err, output)
	}
	before, _, _ := strings.Cut(tree(t, module)[templates.FileName], "runtime."+found[2])
	if advice := before[strings.LastIndex(before, "\n\n"):]; !strings.Contains(advice, "go get github.com/idemgen/idemgen@latest") {
		t.Errorf("above the line that fails stands %s", advice)
	}
}

// quoted is a path as a JSON string.
func quoted(path string) string { return `"` + filepath.ToSlash(path) + `"` }
