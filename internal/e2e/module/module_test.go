package module_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/process"
)

// module is a user's module.
type module struct {
	dir string
	env []string
}

// newModule makes a module example.com/orders that uses this repository, with
// the requirements, the tool line and the sums of the example: what it needs
// is in the module cache, so nothing is asked of the network.
func newModule(t *testing.T, files map[string]string) module {
	t.Helper()
	root := process.Root(t)
	m := emptyModule(t)
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(root, "example", name))
		if err != nil {
			t.Fatal(err)
		}
		m.write(t, name, string(content))
	}
	m.run(t, "go", "mod", "edit", "-module=example.com/orders", "-replace=github.com/idemgen/idemgen="+root)
	m.writeAll(t, files)
	return m
}

// emptyModule is a folder for a module, and its environment.
func emptyModule(t *testing.T) module {
	return module{t.TempDir(), process.Env("GOFLAGS=", "GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local")}
}

// with is the module in another environment.
func (m module) with(env ...string) module {
	return module{m.dir, slices.Concat(m.env, env)}
}

// in is the module's folder below its root.
func (m module) in(folder string) module {
	return module{filepath.Join(m.dir, folder), m.env}
}

func (m module) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	return process.Run(t, m.dir, m.env, name, args...)
}

func (m module) write(t *testing.T, name, content string) {
	t.Helper()
	file := filepath.Join(m.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (m module) writeAll(t *testing.T, files map[string]string) {
	t.Helper()
	for name, content := range files {
		m.write(t, name, content)
	}
}

func (m module) read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(m.dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// output is what idemgen generates into a module: by slash-separated path, the
// files named idem_gen.go and those in folders named ledger.
func (m module) output(t *testing.T) map[string]string {
	t.Helper()
	output := map[string]string{}
	err := filepath.WalkDir(m.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == "vendor" {
			return filepath.SkipDir
		}
		if entry.IsDir() || entry.Name() != "idem_gen.go" && filepath.Base(filepath.Dir(path)) != "ledger" {
			return nil
		}
		name, err := filepath.Rel(m.dir, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		output[filepath.ToSlash(name)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// clear removes the output.
func (m module) clear(t *testing.T) {
	t.Helper()
	for name := range m.output(t) {
		if err := os.Remove(filepath.Join(m.dir, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
	}
}

// same compares outputs byte for byte.
func same(t *testing.T, got, want map[string]string) {
	t.Helper()
	if len(want) == 0 {
		t.Fatal("nothing was generated")
	}
	if names, wanted := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(names, wanted) {
		t.Fatalf("the files are %s, want %s", strings.Join(names, " "), strings.Join(wanted, " "))
	}
	for name, content := range want {
		if got[name] != content {
			t.Errorf("%s differs:\n%s\nwant\n%s", name, got[name], content)
		}
	}
}
