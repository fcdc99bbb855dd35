package module_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/process"
)

// withoutCompiler are settings under which no C code can be built: cgo is off,
// and the go command is the only program that can be found.
func withoutCompiler(t *testing.T) []string {
	t.Helper()
	command, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(command, filepath.Join(bin, "go")); err != nil {
		t.Fatal(err)
	}
	return []string{"CGO_ENABLED=0", "PATH=" + bin, "CC=", "CXX="}
}

// TestWithoutCgo: without a C compiler, the generator builds and generates, the
// example and the tests of all modules build, and the tests of the main module
// pass. Its test of sqlc, a development tool, is left out, because it builds the
// tool, and the one in which git tells what stood.
// Origin: https://github.com/sqlc-dev/sqlc/issues/2149
func TestWithoutCgo(t *testing.T) {
	t.Parallel()
	settings := withoutCompiler(t)
	root := module{process.Root(t), process.Env(settings...)}
	bin := t.TempDir() + string(filepath.Separator)
	root.run(t, "go", "build", "-o", bin, "./...")
	example := root.in("example")
	example.run(t, "go", "build", "-o", bin, "./...")
	for _, folder := range []string{".", "example", "prove", "internal/e2e", "bench"} {
		root.in(folder).run(t, "go", "vet", "./...")
	}

	m := newModule(t, map[string]string{"orders.go": readmeFile(t, "orders.go"), "cmd/shop/main.go": readmeFile(t, "cmd/shop/main.go")})
	m.run(t, idemgen, "./...")
	want := m.output(t)
	m.clear(t)
	m.with(settings...).run(t, bin+"idemgen", "./...")
	same(t, m.output(t), want)
	m.with(settings...).run(t, "go", "build", "./...")
	example.run(t, bin+"idemgen", "check", "./...")

	root.run(t, "go", "test", "-skip=^TestEmittedIsWhatSqlcMakes$|^TestAccept$/^deleted_git$", "./...")
}
