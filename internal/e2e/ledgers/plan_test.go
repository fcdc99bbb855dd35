package ledgers_test

import (
	"database/sql"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/ledgers/emitted/plain"
	"github.com/idemgen/idemgen/internal/e2e/ledgers/harness"
)

// What a request runs costs the same however many keys there are: it searches
// the primary key, and a sweep searches the index of sweep_at first. Nothing
// scans, and nothing sorts.
func TestQueryPlans(t *testing.T) {
	statements := statementsOf(t, filepath.Join("emitted", "plain", "queries.sql.go"))
	for _, driverName := range []string{modernc, mattn} {
		t.Run(driverName, func(t *testing.T) {
			p := harness.File(t, driverName, filepath.Join(t.TempDir(), "ledger.db"))
			if _, err := plain.Open(t.Context(), p.Writer); err != nil {
				t.Fatal(err)
			}
			const (
				key   = "USING INDEX sqlite_autoindex_idempotency_keys_1 (principal=? AND scope=? AND key=?)"
				index = "INDEX idempotency_keys_sweep_at (sweep_at<?)"
			)
			for name, want := range map[string][]string{
				"read": {key}, "takeOver": {key}, "reuse": {key}, "renew": {key}, "complete": {key}, "lock": {key},
				"release": {key}, "endLease": {key}, "insert": nil,
				"sweepDue":    {index},
				"sweepDrop":   {key, index},
				"sweepDelete": {key, index},
				"list":        {"USING INDEX sqlite_autoindex_idempotency_keys_1 ("},
				"kept":        {"USING COVERING INDEX sqlite_autoindex_idempotency_keys_1 (principal=?)"},
			} {
				plan := explain(t, p.Writer, statements[name])
				for _, part := range want {
					if !strings.Contains(plan, part) {
						t.Errorf("the plan of %s does not search %s:\n%s", name, part, plan)
					}
				}
				for line := range strings.Lines(plan) {
					// A scan of a subquery's one row is none of a table.
					if strings.HasPrefix(line, "SCAN") && !strings.HasPrefix(line, "SCAN found") || strings.Contains(line, "TEMP B-TREE") {
						t.Errorf("the plan of %s has %q:\n%s", name, strings.TrimSpace(line), plan)
					}
				}
			}
		})
	}
}

func explain(t *testing.T, db *sql.DB, statement string) string {
	t.Helper()
	if statement == "" {
		t.Fatal("there is no such statement")
	}
	args := make([]any, 0, 16)
	for i := 1; strings.Contains(statement, "?"+strconv.Itoa(i)); i++ {
		args = append(args, 1)
	}
	rows, err := db.Query("EXPLAIN QUERY PLAN "+statement, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, statement)
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&plan, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}

// statementsOf are the constants of a file of sqlc's, by name.
func statementsOf(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	statements := map[string]string{}
	for _, d := range f.Decls {
		constant, ok := d.(*ast.GenDecl)
		if !ok || constant.Tok != token.CONST {
			continue
		}
		for _, spec := range constant.Specs {
			spec := spec.(*ast.ValueSpec)
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			statements[spec.Names[0].Name] = text
		}
	}
	return statements
}
