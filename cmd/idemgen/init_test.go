package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestInit(t *testing.T) {
	module := newModule(t, nil)
	stdout, stderr := idemgen(t, 0, "init", "-C", module, "pay")
	want(t, "stderr", stderr, "")
	wantIn(t, "stdout", stdout, "wrote pay/pay.go\nwrote pay/service.go\nwrote pay/cmd/pay/main.go\n\nNext, in this folder:\n")
	wantIn(t, "stdout", stdout, "  go generate ./pay\n  go run ./pay/cmd/pay\n")
	idemgen(t, 0, "-C", module, "./pay")

	_, stderr = idemgen(t, 2, "init", "-C", module, "pay")
	wantIn(t, "stderr", stderr, "pay.go exists: nothing is overwritten")
}

func TestInitRefuses(t *testing.T) {
	module := newModule(t, map[string]string{"used/cmd/used/main.go": "package main\n", "plain/plain.go/x": ""})
	for _, c := range []struct{ dir, part string }{
		{"used", "exists"},
		{"plain", "exists"},
		{"sql", `folder "sql" would give the package the name sql`},
		{"string", "would give the package the name string"},
		{"42", `folder "42" gives no name for a Go package`},
	} {
		_, stderr := idemgen(t, 2, "init", "-C", module, c.dir)
		wantIn(t, c.dir+": stderr", stderr, c.part)
		for _, file := range []string{c.dir + ".go", "service.go"} {
			if info, err := os.Stat(filepath.Join(module, c.dir, file)); err == nil && !info.IsDir() {
				t.Errorf("%s: %s was written in spite of that", c.dir, file)
			}
		}
	}
	_, stderr := idemgen(t, 2, "init", filepath.Join(t.TempDir(), "pay"))
	wantIn(t, "stderr", stderr, "there is no go.mod in this folder or above it")
}
