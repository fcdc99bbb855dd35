package generate

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/queries"
)

// TestEmittedStatements reads the SQL of every ledger that is emitted. What sqlc
// does not understand it leaves in the text or drops, in silence: a parameter by
// name that is none, or a statement that is run with fewer values than it has
// places for. And what is beyond ASCII moves its idea of where statements end.
// Origins: https://github.com/sqlc-dev/sqlc/issues/605
// https://github.com/sqlc-dev/sqlc/issues/3334
// https://github.com/sqlc-dev/sqlc/issues/4372
func TestEmittedStatements(t *testing.T) {
	for _, ledger := range []struct{ engine, driver, place string }{
		{"sqlite", "sql", `\?\d+`}, {"postgres", "sql", `\$\d+`}, {"postgres", "pgx", `\$\d+`}, {"mysql", "sql", `\?`},
	} {
		name := ledger.engine + " " + ledger.driver
		files, err := queries.Emit(ledger.engine, ledger.driver, "ledger", "idempotency_keys")
		if err != nil {
			t.Fatal(err)
		}
		for _, sql := range []string{"queries.sql", "schema.sql"} {
			for _, letter := range string(files[sql]) {
				if letter > 126 {
					t.Errorf("%s: %s has the letter %q", name, sql, letter)
				}
			}
		}
		statements, runs := readStatements(t, files["queries.sql.go"])
		if len(statements) < 8 || len(runs) < 8 {
			t.Fatalf("%s: %d statements and %d runs of them were found", name, len(statements), len(runs))
		}
		places := regexp.MustCompile(ledger.place)
		for statement, text := range statements {
			if left := regexp.MustCompile(`[@:][a-z_]+\b|sqlc\.`).FindString(withoutCasts(text)); left != "" {
				t.Errorf("%s: %s has %q left in it:\n%s", name, statement, left, text)
			}
			found := places.FindAllString(text, -1)
			if ledger.place != `\?` { // those are numbered, and may come again
				seen := map[string]bool{}
				for _, place := range found {
					seen[place] = true
				}
				found = found[:len(seen)]
			}
			values, isRun := runs[statement]
			if !isRun || values != len(found) {
				t.Errorf("%s: %s has %d places and is run with %d values", name, statement, len(found), values)
			}
		}
	}
}

// withoutCasts takes out what looks like a parameter and is none: the line with
// the statement's name, and casts of PostgreSQL.
func withoutCasts(text string) string {
	_, text, _ = strings.Cut(text, "\n")
	return strings.ReplaceAll(text, "::", "")
}

// readStatements finds the statements in Go that sqlc made, by the names of
// their constants, and with how many values each is run.
func readStatements(t *testing.T, source []byte) (statements map[string]string, runs map[string]int) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "queries.sql.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	statements, runs = map[string]string{}, map[string]int{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			if len(n.Names) == 1 && len(n.Values) == 1 {
				text, err := types.Eval(fset, nil, token.NoPos, types.ExprString(n.Values[0]))
				if err == nil && text.Value != nil && text.Value.Kind() == constant.String {
					statements[n.Names[0].Name] = constant.StringVal(text.Value)
				}
			}
		case *ast.CallExpr:
			for i, argument := range n.Args {
				if ident, ok := argument.(*ast.Ident); ok && statements[ident.Name] != "" {
					runs[ident.Name] = len(n.Args) - i - 1
				}
			}
		}
		return true
	})
	return statements, runs
}
