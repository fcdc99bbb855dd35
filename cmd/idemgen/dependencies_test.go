package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestDependencies: the generator formats what it writes and resolves no
// imports, which takes minutes in large modules; and it carries no SQL parser,
// whose C code and registered names its users' builds would have to bear.
//
// Origin: https://github.com/wasilibs/go-pgquery/pull/13
// Origin: https://github.com/ent/ent/issues/4470
func TestDependencies(t *testing.T) {
	list := exec.Command("go", "list", "-deps", ".")
	list.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	paths := strings.Fields(string(out))
	if len(paths) < 100 {
		t.Fatalf("%d packages were listed", len(paths))
	}
	for _, path := range paths {
		for _, foreign := range []string{"golang.org/x/tools/imports", "golang.org/x/tools/internal/imports", "sqlc-dev/sqlc", "pg_query", "pgquery", "tidb"} {
			if strings.Contains(path, foreign) {
				t.Errorf("the generator depends on %s", path)
			}
		}
	}
}
