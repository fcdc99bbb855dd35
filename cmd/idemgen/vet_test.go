package main

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// build builds the program: go vet starts it again for each package.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "idemgen.exe")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// start starts a program and compares its exit code.
func start(t *testing.T, wantCode int, binary string, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	command := exec.Command(binary, args...)
	command.Stdout, command.Stderr = &out, &errOut
	err := command.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if code := command.ProcessState.ExitCode(); code != wantCode {
		t.Errorf("%s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, wantCode, &out, &errOut)
	}
	return out.String(), errOut.String()
}

func TestVet(t *testing.T) {
	binary := build(t)
	implemented := good + `
type impl struct{}

func (impl) Do(ctx context.Context) error { return other(context.TODO()) }

func other(context.Context) error { return nil }
`
	module := newModule(t, map[string]string{"a/a.go": implemented, "b/b.go": "package b\n"})
	const message = "Do drops its context: context.TODO() has neither its deadline nor its claim; hand on the handler's context, or context.WithoutCancel of it"
	stdout, stderr := start(t, 1, binary, "vet", "-C", module, "./...")
	want(t, "stdout", stdout, "")
	want(t, "stderr", stderr, "a/a.go:13:58: "+message+"\n")

	_, stderr = start(t, 1, binary, "vet", "-json", "-C", module, "./...")
	if got := diagnostics(t, stderr); !reflect.DeepEqual(got, []diagnostic{{File: "a/a.go", Line: 13, Col: 58, Code: "vet-context", Message: message}}) {
		t.Errorf("-json prints %s", stderr)
	}
	stdout, stderr = start(t, 0, binary, "vet", "-C", module, "./b")
	want(t, "output", stdout+stderr, "")

	// As the tool of go vet.
	_, stderr = start(t, 1, "go", "-C", module, "vet", "-vettool="+binary, "./...")
	wantIn(t, "stderr", stderr, "a.go:13:58: "+message)

	write(t, module, "a/broken.go", "package a\n\nvar x int = \"\"\n")
	_, stderr = start(t, 2, binary, "vet", "-C", module, "./a")
	wantIn(t, "stderr", stderr, "broken.go:3:13")
	if strings.Contains(stderr, "# example.test") {
		t.Errorf("stderr has heads of packages: %s", stderr)
	}
}

// Handlers do not stand in test files: a module that only those import need not
// be there. A package that does not compile by itself is trouble as ever.
func TestVetPassesOverTestImports(t *testing.T) {
	binary := build(t)
	for name, test := range map[string]string{
		"inside":  "package a\n\nimport _ \"example.org/absent\"\n",
		"outside": "package a_test\n\nimport _ \"example.org/absent\"\n",
		"broken":  "package a\n\nvar _ int = \"\"\n",
	} {
		module := newModule(t, map[string]string{"a/a.go": good, "a/a_test.go": test})
		stdout, stderr := start(t, 0, binary, "vet", "-C", module, "./...")
		want(t, name, stdout+stderr, "")
	}
	module := newModule(t, map[string]string{"a/a.go": good + "\nimport _ \"example.org/absent\"\n"})
	_, stderr := start(t, 2, binary, "vet", "-C", module, "./...")
	if stderr == "" {
		t.Error("a package that does not compile is passed over")
	}
}
