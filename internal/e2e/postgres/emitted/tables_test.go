package emitted_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/idemgen/idemgen/queries"

	"github.com/idemgen/idemgen/internal/e2e/postgres/emitted"
)

// To write the packages again, run go generate in ../emit.
func TestCurrent(t *testing.T) {
	for goPackage, p := range emitted.Packages {
		files, err := queries.Emit("postgres", p.Driver, goPackage, p.Table)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range files {
			got, err := os.ReadFile(filepath.Join(goPackage, name))
			if err != nil {
				t.Error(err)
			} else if !bytes.Equal(got, want) {
				t.Errorf("%s/%s is not what is emitted today", goPackage, name)
			}
		}
		entries, err := os.ReadDir(goPackage)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if _, ok := files[e.Name()]; !ok {
				t.Errorf("%s/%s is not emitted any more", goPackage, e.Name())
			}
		}
	}
}
