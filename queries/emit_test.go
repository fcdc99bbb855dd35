package queries_test

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/queries"
)

// files is the text of a file of an engine's folder.
func files(engine, name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(engine, name))
	return string(text), err
}

// variants are ledgers of several packages and tables.
var variants = []struct{ goPackage, table string }{
	{"ledger", "idempotency_keys"},
	{"sqlite", "idempotency_keys"},
	{"shopledger", "idem"},
	{"keys", "keys"},
	{"ledger2", "idempotency_keys2"},
	{"l", "idempotency_keys_schema"},
	{"main_keys", "main.keys"},
	{"store", "store.idempotency_keys"},
	{"long", "a234567890123456789012345678901234567890"},
}

func emit(t testing.TB, goPackage, table string) map[string][]byte {
	t.Helper()
	emitted, err := queries.Emit("sqlite", "sql", goPackage, table)
	if err != nil {
		t.Fatal(err)
	}
	return emitted
}

func TestEmit(t *testing.T) {
	for _, v := range variants {
		t.Run(v.goPackage, func(t *testing.T) {
			emitted := emit(t, v.goPackage, v.table)
			for name, content := range emitted {
				if strings.HasSuffix(name, ".go") {
					f, err := parser.ParseFile(token.NewFileSet(), name, content, parser.PackageClauseOnly)
					if err != nil {
						t.Fatal(err)
					}
					if f.Name.Name != v.goPackage {
						t.Errorf("%s is of package %s; want %s", name, f.Name.Name, v.goPackage)
					}
				}
				if !strings.HasSuffix(v.table, "idempotency_keys") && regexp.MustCompile(`\bidempotency_keys\b`).Match(bytes.ReplaceAll(content, []byte(v.table), nil)) {
					t.Errorf("%s names the table that the folder was written under", name)
				}
				if !bytes.Equal(content, emit(t, v.goPackage, v.table)[name]) {
					t.Errorf("%s differs between two emissions", name)
				}
				if bytes.Contains(content, []byte("\r")) || !bytes.HasSuffix(content, []byte("\n")) {
					t.Errorf("%s does not consist of lines", name)
				}
			}
			if want := "\n        package: " + v.goPackage + "\n"; !strings.Contains(string(emitted["sqlc.yaml"]), want) {
				t.Errorf("sqlc.yaml has no line %q", want)
			}
			for _, name := range []string{"schema.sql", "queries.sql", "sqlc.yaml", "db.go", "models.go", "queries.sql.go", "ledger.go"} {
				if emitted[name] == nil {
					t.Errorf("%s is not emitted", name)
				}
			}
			if len(emitted) != 7 {
				t.Errorf("%d files are emitted; want 7", len(emitted))
			}
		})
	}
}

// Under the names of the folder itself, the SQL and sqlc's Go are emitted as
// they stand.
func TestEmitOfTheFolder(t *testing.T) {
	emitted := emit(t, "sqlite", "idempotency_keys")
	for _, name := range []string{"queries.sql", "db.go", "models.go", "queries.sql.go"} {
		want, err := files("sqlite", name)
		if err != nil {
			t.Fatal(err)
		}
		if string(emitted[name]) != want {
			t.Errorf("%s differs from the file in the folder", name)
		}
	}
}

// The names that derive from the table stand in its schema.
func TestEmitOfASchema(t *testing.T) {
	schema := string(emit(t, "ledger", "store.keys")["schema.sql"])
	for _, want := range []string{
		"CREATE TABLE IF NOT EXISTS store.keys (\n",
		"CREATE INDEX IF NOT EXISTS store.keys_sweep_at ON keys (sweep_at);\n",
		"CREATE TABLE IF NOT EXISTS store.keys_schema (\n",
		"INSERT INTO store.keys_schema (",
	} {
		if !strings.Contains(schema, want) {
			t.Errorf("the schema has no %q:\n%s", want, schema)
		}
	}
}

func TestEmitOfAnUnknownEngine(t *testing.T) {
	for _, engine := range []string{"", "oracle", "SQLite", "sqlite/..", "../sqlite"} {
		if emitted, err := queries.Emit(engine, "sql", "ledger", "idempotency_keys"); err == nil || emitted != nil {
			t.Errorf("engine %q gives %d files, %v; want an error", engine, len(emitted), err)
		}
	}
}
