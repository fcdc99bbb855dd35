package deploy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/process"
)

// edit is a change to the source of the shop's API.
type edit struct{ from, to string }

// build builds the example as it stands, or a release of it whose API was
// edited and generated again.
func build(t *testing.T, edits ...edit) (binary string) {
	t.Helper()
	root := process.Root(t)
	example := filepath.Join(root, "example")
	if len(edits) == 0 {
		return process.Build(t, example, ".")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(example)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "orders", "orders.go")
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(source)
	for _, e := range edits {
		if strings.Count(text, e.from) != 1 {
			t.Fatalf("orders.go has %q %d times, want once", e.from, strings.Count(text, e.from))
		}
		text = strings.Replace(text, e.from, e.to, 1)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	process.Run(t, dir, process.Env(), "go", "mod", "edit", "-replace=github.com/idemgen/idemgen="+root)
	process.Run(t, dir, process.Env(), "go", "tool", "idemgen", "./orders")
	return process.Build(t, dir, ".")
}
