package ledgers_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/process"
	"github.com/idemgen/idemgen/queries"
)

// Ledgers of any package and table compile beside each other, and work in one
// file: each creates its schema and serves a key.
func TestVariants(t *testing.T) {
	variants := map[string]string{
		"ledger": "idempotency_keys", "other": "idempotency_keys2", "short": "k", "journal": "idempotency_keys_log",
		"qualified": "main.qualified_keys", "long": "a234567890123456789012345678901234567890", "under": "_",
	}
	folder := t.TempDir()
	write := func(content []byte, path ...string) {
		t.Helper()
		file := filepath.Join(append([]string{folder}, path...)...)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var imports, opens strings.Builder
	for _, goPackage := range slices.Sorted(maps.Keys(variants)) {
		files, err := queries.Emit("sqlite", "sql", goPackage, variants[goPackage])
		if err != nil {
			t.Fatal(err)
		}
		for name, content := range files {
			write(content, goPackage, name)
		}
		fmt.Fprintf(&imports, "\t%q\n", "variants/"+goPackage)
		fmt.Fprintf(&opens, "\tserve(db, %q, %s.Open)\n", goPackage, goPackage)
	}
	// The module is this test's own, with the same versions.
	root := process.Root(t)
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(root, "internal", "e2e", name))
		if err != nil {
			t.Fatal(err)
		}
		write([]byte(strings.NewReplacer(
			"module github.com/idemgen/idemgen/internal/e2e\n", "module variants\n",
			"=> ../..\n", "=> "+root+"\n",
		).Replace(string(content))), name)
	}
	write([]byte(fmt.Sprintf(variantsMain, imports.String(), opens.String())), "main.go")
	out := process.Run(t, folder, process.Env(), "go", "run", ".", filepath.Join(folder, "ledger.db"))
	if want := len(variants); strings.Count(out, " serves\n") != want {
		t.Errorf("the program said:\n%swant %d ledgers that serve", out, want)
	}
}

const variantsMain = `package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/sqlledger"
	_ "modernc.org/sqlite"
%s)

func main() {
	db, err := sqlledger.OpenSQLite("sqlite", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
%s}

func serve(db *sqlledger.SQLite, name string, open func(context.Context, *sql.DB, ...sqlledger.Option) (*sqlledger.Ledger, error)) {
	ctx := context.Background()
	for _, first := range []bool{true, false} {
		ledger, err := open(ctx, db.Writer, sqlledger.WithReader(db.Reader))
		if err != nil {
			log.Fatal(name, ": ", err)
		}
		c := runtime.Claim{ID: runtime.ID{Principal: "alice", Key: "k"}, Terms: runtime.Terms{Lease: time.Hour}}
		if _, won, err := ledger.Insert(ctx, c); err != nil || won != first {
			log.Fatal(name, ": insert: ", won, err)
		}
		if stands, err := ledger.Complete(ctx, runtime.Completion{
			Fence:  runtime.Fence{ID: c.ID, Generation: 1},
			Answer: runtime.StoredAnswer{Status: 200, Headers: []byte{}, Body: []byte(name)},
		}); err != nil || !stands {
			log.Fatal(name, ": complete: ", stands, err)
		}
		row, found, err := ledger.Read(ctx, c.ID)
		if err != nil || !found || string(row.Answer.Body) != name {
			log.Fatal(name, ": read: ", row, found, err)
		}
	}
	fmt.Println(name, "serves")
}
`
