package queries_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var sqlcOnce struct {
	sync.Once
	path string
	err  error
}

// TestMain removes the sqlc that a test built.
func TestMain(m *testing.M) {
	code := m.Run()
	if sqlcOnce.path != "" && os.Getenv("SQLC") == "" {
		os.RemoveAll(filepath.Dir(sqlcOnce.path))
	}
	os.Exit(code)
}

// sqlc is the binary that the Makefile names in SQLC, or one that is built from
// the module of tools.
func sqlc(t *testing.T) string {
	t.Helper()
	sqlcOnce.Do(func() {
		if sqlcOnce.path = os.Getenv("SQLC"); sqlcOnce.path != "" {
			return
		}
		var folder string
		if folder, sqlcOnce.err = os.MkdirTemp("", "sqlc"); sqlcOnce.err != nil {
			return
		}
		sqlcOnce.path = filepath.Join(folder, "sqlc")
		build := exec.Command("go", "build", "-o", sqlcOnce.path, "github.com/sqlc-dev/sqlc/cmd/sqlc")
		build.Dir = filepath.Join("..", "internal", "tools")
		build.Env = append(os.Environ(), "GOWORK=off")
		if out, err := build.CombinedOutput(); err != nil {
			sqlcOnce.err = fmt.Errorf("build sqlc: %w\n%s", err, out)
		}
	})
	if sqlcOnce.err != nil {
		t.Fatal(sqlcOnce.err)
	}
	return sqlcOnce.path
}

// The emitted Go is what sqlc makes of the emitted SQL, byte for byte: putting
// the table's name into it as text makes no difference. sqlc knows no schemas
// on SQLite, so it gets such a table without its schema, and so is the Go
// compared.
func TestEmittedIsWhatSqlcMakes(t *testing.T) {
	for _, v := range variants {
		t.Run(v.goPackage, func(t *testing.T) {
			emitted := emit(t, v.goPackage, v.table)
			if schema, _, qualified := strings.Cut(v.table, "."); qualified {
				for name, content := range emitted {
					emitted[name] = bytes.ReplaceAll(content, []byte(schema+"."), nil)
				}
			}
			folder := t.TempDir()
			for name, content := range emitted {
				if strings.HasSuffix(name, ".go") {
					continue
				}
				if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			generate := exec.Command(sqlc(t), "generate")
			generate.Dir = folder
			if out, err := generate.CombinedOutput(); err != nil {
				t.Fatalf("sqlc generate: %v\n%s", err, out)
			}
			made, err := filepath.Glob(filepath.Join(folder, "*.go"))
			if err != nil || len(made) != 3 {
				t.Fatalf("sqlc made %v, %v; want three files", made, err)
			}
			for _, file := range made {
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if name := filepath.Base(file); !bytes.Equal(emitted[name], want) {
					t.Errorf("emitted %s is not what sqlc makes:\n%s", name, want)
				}
			}
		})
	}
}
