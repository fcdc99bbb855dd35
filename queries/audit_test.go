package queries_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sqlc leaves what it does not understand in the SQL, and numbers what it does
// understand by position: both would fail only when the statement runs. So the
// Go that it made is read again: no parameter is left by name, and each
// statement has as many parameters, in sequence, as its struct has fields.
func TestGeneratedStatements(t *testing.T) {
	parsed := parse(t, filepath.Join("sqlite", "queries.sql.go"))
	if len(parsed.statements) < 13 {
		t.Fatalf("%d statements were found; want all", len(parsed.statements))
	}
	for name, text := range parsed.statements {
		if strings.Contains(text, "sqlc.") || regexp.MustCompile(`[@:][a-z_]+`).MatchString(withoutHeader(text)) {
			t.Errorf("%s has a parameter by name:\n%s", name, text)
		}
		var numbers []int
		for _, match := range regexp.MustCompile(`\?(\d*)`).FindAllStringSubmatch(text, -1) {
			n, err := strconv.Atoi(match[1])
			if err != nil {
				t.Errorf("%s has a parameter without a number:\n%s", name, text)
			}
			if !slices.Contains(numbers, n) {
				numbers = append(numbers, n)
			}
		}
		slices.Sort(numbers)
		for i, n := range numbers {
			if n != i+1 {
				t.Errorf("%s has the parameters %v; want a sequence from 1", name, numbers)
				break
			}
		}
		params := strings.ToUpper(name[:1]) + name[1:] + "Params"
		if fields := parsed.fields[params]; len(fields) != len(numbers) {
			t.Errorf("%s has %d parameters, and %s the fields %v", name, len(numbers), params, fields)
		}
		if args := parsed.arguments[name]; !slices.Equal(args, parsed.fields[params]) {
			t.Errorf("%s is run with %v; want the fields of %s in their order, %v", name, args, params, parsed.fields[params])
		}
	}
	for name := range parsed.fields {
		statement := strings.TrimSuffix(name, "Params")
		if _, ok := parsed.statements[strings.ToLower(statement[:1])+statement[1:]]; !ok && strings.HasSuffix(name, "Params") {
			t.Errorf("%s belongs to no statement", name)
		}
	}
}

// Every statement is in the file that sqlc read, under its name.
func TestGeneratedNames(t *testing.T) {
	text, err := files("sqlite", "queries.sql")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, match := range regexp.MustCompile(`(?m)^-- name: (\w+) `).FindAllStringSubmatch(text, -1) {
		want = append(want, strings.ToLower(match[1][:1])+match[1][1:])
	}
	got := slices.Sorted(maps.Keys(parse(t, filepath.Join("sqlite", "queries.sql.go")).statements))
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the Go has the statements %v; the SQL %v", got, want)
	}
}

// generated is what a file of sqlc's declares.
type generated struct {
	statements map[string]string   // constants, by name
	fields     map[string][]string // of structs, by name
	arguments  map[string][]string // fields that a statement is run with
}

func parse(t *testing.T, file string) generated {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	g := generated{map[string]string{}, map[string][]string{}, map[string][]string{}}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			if len(n.Values) != 1 {
				return true
			}
			if literal, ok := n.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				g.statements[n.Names[0].Name] = text
			}
		case *ast.TypeSpec:
			if s, ok := n.Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					for _, name := range field.Names {
						g.fields[n.Name.Name] = append(g.fields[n.Name.Name], name.Name)
					}
				}
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); !ok || !strings.HasSuffix(f.Sel.Name, "Context") || len(n.Args) < 2 {
				return true
			}
			statement := n.Args[1].(*ast.Ident).Name
			for _, arg := range n.Args[2:] {
				g.arguments[statement] = append(g.arguments[statement], arg.(*ast.SelectorExpr).Sel.Name)
			}
		}
		return true
	})
	return g
}

// withoutHeader is a statement without sqlc's comment in front.
func withoutHeader(text string) string {
	_, text, _ = strings.Cut(text, "\n")
	return text
}
