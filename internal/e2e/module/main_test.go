// Package module_test uses idemgen as users do: in modules of their own.
package module_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/process"
)

// idemgen is the generator, built once.
var idemgen string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "module-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	idemgen = filepath.Join(dir, "idemgen")
	// A build fetches no modules that only another platform needs, and
	// vendoring looks at those, too. Here is the one place that may ask the
	// network; without one, the module cache may have them all the same.
	for _, folder := range []string{"../../..", "../../../example", "../../../prove"} {
		_, _ = process.Try(folder, process.Env(), "go", "mod", "download")
	}
	if out, err := process.Try("../../..", process.Env(), "go", "build", "-o", idemgen, "./cmd/idemgen"); err != nil {
		fmt.Fprintln(os.Stderr, err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}
