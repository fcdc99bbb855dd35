package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newModule makes a module that uses this repository, with the files given, and
// sets the environment of the go command so that it needs no network.
func newModule(t *testing.T, files map[string]string) string {
	t.Helper()
	for _, setting := range []string{"GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local"} {
		name, value, _ := strings.Cut(setting, "=")
		t.Setenv(name, value)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	module := t.TempDir()
	write(t, module, "go.mod", fmt.Sprintf("module example.test\n\ngo 1.26.0\n\nrequire github.com/idemgen/idemgen v0.0.0\n\nreplace github.com/idemgen/idemgen => %s\n", filepath.ToSlash(root)))
	for name, content := range files {
		write(t, module, name, content)
	}
	return module
}

func write(t *testing.T, module, name, content string) {
	t.Helper()
	file := filepath.Join(module, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// idemgen runs the program and compares its exit code.
func idemgen(t *testing.T, wantCode int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	code := run(args, strings.NewReader(""), &out, &errOut)
	if code != wantCode {
		t.Errorf("idemgen %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, wantCode, &out, &errOut)
	}
	return out.String(), errOut.String()
}

// want compares a text.
func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s is\n%s\nwant\n%s", what, got, want)
	}
}

// wantIn looks for a part of a text.
func wantIn(t *testing.T, what, got, part string) {
	t.Helper()
	if !strings.Contains(got, part) {
		t.Errorf("%s is\n%s\nwant in it\n%s", what, got, part)
	}
}

const good = `package a

import "context"

//idem:api
type API interface {
	//idem:endpoint POST /do
	Do(ctx context.Context) error
}
`

// Origin: https://github.com/matryer/moq/pull/179
func TestGenerateAndCheck(t *testing.T) {
	module := newModule(t, map[string]string{"a/a.go": good, "b/b.go": strings.Replace(good, "package a", "package b", 1)})
	stdout, stderr := idemgen(t, 1, "check", "-C", module, "./...")
	want(t, "stdout", stdout, "a/idem_gen.go is missing\nb/idem_gen.go is missing\n")
	want(t, "stderr", stderr, "")

	stdout, stderr = idemgen(t, 0, "-C", module, "./...")
	want(t, "stdout", stdout+stderr, "")
	stdout, stderr = idemgen(t, 0, "check", "-C", module, "./...")
	want(t, "stdout", stdout+stderr, "")
	stdout, _ = idemgen(t, 0, "-C", module, "-v", "./...")
	want(t, "stdout", stdout, "")

	write(t, module, "a/a.go", strings.Replace(good, "//idem:api", "//idem:api\n//idem:retain 48h", 1))
	write(t, module, "b/b.go", "package b\n")
	stdout, _ = idemgen(t, 1, "check", "-C", module, "./...")
	wantIn(t, "stdout", stdout, "--- a/a/idem_gen.go\n+++ b/a/idem_gen.go\n")
	wantIn(t, "stdout", stdout, "-\tRetain:       24 * time.Hour,\n+\tRetain:       48 * time.Hour,\n")
	wantIn(t, "stdout", stdout, "b/idem_gen.go is stale: nothing asks for it any more\n")
	stdout, _ = idemgen(t, 0, "-v", "-C", module, "./...")
	want(t, "stdout", stdout, "wrote a/idem_gen.go\nremoved b/idem_gen.go\n")
	idemgen(t, 0, "check", "-C", module, "./a")
}

// Origin: https://github.com/open-policy-agent/opa/issues/9160
func TestCurrentFolder(t *testing.T) {
	module := newModule(t, map[string]string{"a/a.go": good})
	t.Chdir(filepath.Join(module, "a"))
	t.Setenv("GOPACKAGE", "nonsense")
	t.Setenv("GOFILE", "nonsense.go")
	stdout, _ := idemgen(t, 0, "-v")
	want(t, "stdout", stdout, "wrote idem_gen.go\n")
	idemgen(t, 0, "check")
	idemgen(t, 0, "check", "-C", "..", "example.test/a")
}

// Origin: https://github.com/hexdigest/gowrap/issues/73
func TestTags(t *testing.T) {
	module := newModule(t, map[string]string{"a.go": "//go:build special\n\n" + good, "b.go": "package a\n"})
	_, stderr := idemgen(t, 2, "-C", module)
	wantIn(t, "stderr", stderr, "-tags")
	idemgen(t, 0, "-C", module, "-tags", "special,other")
	idemgen(t, 0, "check", "-tags=special", "-C", module)
	idemgen(t, 0, "check", "--tags=special", "-C", module)
	t.Setenv("GOFLAGS", "-mod=mod -tags=special")
	idemgen(t, 0, "check", "-C", module)
}

func TestProblems(t *testing.T) {
	var source strings.Builder
	source.WriteString("package a\n\nimport \"context\"\n\n//idem:api\ntype API interface {\n")
	for i := range 60 {
		fmt.Fprintf(&source, "\t//idem:endpoint GET /%d\n\tDo%d(ctx context.Context) error\n", i, i)
	}
	source.WriteString("}\n")
	module := newModule(t, map[string]string{"a.go": source.String()})

	stdout, stderr := idemgen(t, 1, "-C", module)
	want(t, "stdout", stdout, "")
	lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
	if len(lines) != 51 || !strings.HasPrefix(lines[0], "a.go:7:18: idem:endpoint: ") || lines[50] != "and 10 more, which -v lists" {
		t.Errorf("stderr is %s", stderr)
	}
	_, stderr = idemgen(t, 1, "-v", "-C", module)
	if n := strings.Count(stderr, "\n"); n != 60 {
		t.Errorf("-v lists %d problems, not 60", n)
	}
	idemgen(t, 2, "check", "-C", module)
	if _, err := os.Stat(filepath.Join(module, "idem_gen.go")); err == nil {
		t.Error("a file was written in spite of problems")
	}
}

func TestForeignFile(t *testing.T) {
	module := newModule(t, map[string]string{"a.go": good, "idem_gen.go": "package a\n"})
	_, stderr := idemgen(t, 1, "-C", module)
	wantIn(t, "stderr", stderr, "a.go:6:6: API: idem_gen.go was not written by idemgen")
	idemgen(t, 2, "check", "-C", module)
}

func TestTrouble(t *testing.T) {
	module := newModule(t, map[string]string{"a.go": "package a\n"})
	for _, c := range []struct{ args, stderr string }{
		{"--nonsense", "idemgen: unknown flag: --nonsense\nRun 'idemgen --help' for usage.\n"},
		{"check -x", "idemgen: unknown shorthand flag: 'x' in -x\nRun 'idemgen check --help' for usage.\n"},
		{"version now", "idemgen: unknown command"},
		{"-C " + module, "idemgen: no annotated interface in .: "},
		{"-C " + filepath.Join(module, "missing"), "idemgen: "},
		{"-C " + module + " ./missing", "idemgen: "},
		{"-C " + module + " chekc", "(did you mean the command check?)"},
	} {
		stdout, stderr := idemgen(t, 2, strings.Fields(c.args)...)
		wantIn(t, c.args+": stderr", stderr, c.stderr)
		want(t, c.args+": stdout", stdout, "")
		if strings.Contains(stderr, "Flags:") {
			t.Errorf("%s: usage is printed with the error:\n%s", c.args, stderr)
		}
	}
}

func TestHelpAndVersion(t *testing.T) {
	stdout, stderr := idemgen(t, 0, "--help")
	wantIn(t, "stdout", stdout, "idemgen [packages]")
	want(t, "stderr", stderr, "")
	stdout, _ = idemgen(t, 0, "help", "check")
	wantIn(t, "stdout", stdout, "unified diffs")
	stdout, stderr = idemgen(t, 0, "version")
	wantIn(t, "stdout", stdout, "idemgen ")
	want(t, "stderr", stderr, "")
}

// failingWriter panics, as a bug would.
type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { panic("a bug") }

// Origin: https://github.com/google/wire/blob/main/internal/wire/wire.go
func TestInternalError(t *testing.T) {
	for _, c := range []struct {
		args  []string
		stack bool
	}{{[]string{"version"}, false}, {[]string{"-v", "version"}, true}} {
		var stderr bytes.Buffer
		if code := run(c.args, strings.NewReader(""), failingWriter{}, &stderr); code != 2 {
			t.Errorf("exit code %d, want 2", code)
		}
		wantIn(t, "stderr", stderr.String(), "idemgen: internal error, please report it: a bug\n")
		if stack := strings.Contains(stderr.String(), "goroutine "); stack != c.stack {
			t.Errorf("%v: stack printed: %v", c.args, stack)
		}
	}
}
