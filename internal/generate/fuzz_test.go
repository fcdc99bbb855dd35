package generate

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/idemgen/idemgen/internal/source"
	"github.com/idemgen/idemgen/internal/spec"
	"github.com/idemgen/idemgen/templates"
)

// FuzzInterfaces draws packages of interfaces that break no rule, and generates
// them: the output compiles, against the real runtime; it is formatted; it is
// the same bytes again, also when the files come in another order; and what it
// says about the identity of its endpoints reads back.
// Origin: https://github.com/ugorji/go/issues/101
// Origin: https://github.com/google/wire/blob/main/internal/wire/wire.go
func FuzzInterfaces(f *testing.F) {
	f.Add([]byte{})
	random := rand.New(rand.NewPCG(1, 2))
	for range 150 {
		data := make([]byte, 200)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) <= 4096 {
			checkDrawn(t, drawPackage(data))
		}
	})
}

// checkDrawn generates a drawn package in a folder of its own.
func checkDrawn(t *testing.T, files map[string]string) {
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf(format+"\n%s\n%s", append(args, files["api.go"], files["types.go"])...)
	}
	dir := t.TempDir()
	for name, content := range files {
		writeFile(t, filepath.Join(dir, name), content)
	}
	content, model, err := renderFolder(dir, "api.go", "types.go")
	if err != nil {
		fail("%v", err)
	}
	again, _, err := renderFolder(dir, "types.go", "api.go")
	if err != nil || !bytes.Equal(content, again) {
		fail("the files in another order give other bytes (%v):\n%s\n%s", err, content, again)
	}
	if formatted, err := format.Source(content); err != nil || !bytes.Equal(formatted, content) {
		fail("the output is not formatted (%v):\n%s", err, content)
	}
	writeFile(t, filepath.Join(dir, templates.FileName), string(content))
	if _, _, _, err := checkFolder(dir, "api.go", "types.go", templates.FileName); err != nil {
		fail("the output does not compile: %v\n%s", err, content)
	}
	if err := readsBack(content, model); err != nil {
		fail("%v\n%s", err, content)
	}
}

// renderFolder generates the package in a folder, whose files are read in the
// given order, as the generator does once it has loaded a package.
func renderFolder(dir string, names ...string) ([]byte, *spec.Package, error) {
	fset, files, checked, err := checkFolder(dir, names...)
	if err != nil {
		return nil, nil, fmt.Errorf("the drawn package does not compile: %w", err)
	}
	model, problems := source.ReadSyntax(fset, files, checked.pkg, checked.info)
	if len(problems) > 0 {
		return nil, nil, problems
	}
	content, err := templates.Render(model, ledgerFolders(model))
	return content, model, err
}

// readsBack compares the endpoints of a generated file with the model that it
// was generated from.
func readsBack(content []byte, model *spec.Package) error {
	standing, err := standingEndpoints(templates.FileName, content)
	if err != nil {
		return err
	}
	var got, want []string
	for _, e := range standing {
		got = append(got, fmt.Sprintf("%s.%s %q %s", e.api, e.method, e.operation, e.scope))
	}
	for _, api := range model.APIs {
		for _, e := range api.Endpoints {
			want = append(want, fmt.Sprintf("%s.%s %q %s", api.Name, e.Name, e.Policy.Operation, e.Policy.Scope))
		}
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("the file reads back as %q, want %q", got, want)
	}
	return nil
}

// checked is a type-checked package.
type checked struct {
	pkg  *types.Package
	info *types.Info
}

// checkFolder type-checks files of a folder as one package.
func checkFolder(dir string, names ...string) (*token.FileSet, []*ast.File, checked, error) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, checked{}, err
		}
		files = append(files, file)
	}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}, Implicits: map[ast.Node]types.Object{}}
	var all []error
	config := types.Config{Importer: library(), Error: func(err error) { all = append(all, err) }}
	pkg, _ := config.Check("example.test/drawn", fset, files, info)
	return fset, files, checked{pkg, info}, errors.Join(all...)
}

// importer gives the packages that drawn packages and generated code import.
type importer map[string]*types.Package

func (i importer) Import(path string) (*types.Package, error) {
	if pkg := i[path]; pkg != nil {
		return pkg, nil
	}
	return nil, fmt.Errorf("package %s is not among those that were loaded", path)
}

// library loads those packages: the real ones, those of alike, and two that look
// like sqlc's.
var library = sync.OnceValue(func() importer {
	cfg := &packages.Config{Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports, Env: append(os.Environ(), "GOFLAGS=", "GOWORK=off")}
	loaded, err := packages.Load(cfg, "context", "database/sql", "errors", "net/http", "time",
		"github.com/idemgen/idemgen/runtime", "github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/pgconn")
	if err != nil || packages.PrintErrors(loaded) > 0 {
		panic(fmt.Sprint("loading the library: ", err))
	}
	all := importer{}
	for _, pkg := range loaded {
		all[pkg.PkgPath] = pkg.Types
	}
	const shared = "\n\ntype Name string\n\ntype In struct {\n\tM int `json:\"m\"`\n}\n\n" +
		"type Box[T any] struct {\n\tValue T `json:\"value\"`\n}\n\ntype Phantom[T any] struct {\n\tP int `json:\"p\"`\n}\n"
	texts := map[string]string{
		"example.test/store": `package store

import (
	"context"
	"database/sql"
)

type DBTX interface {
	ExecContext(context.Context, string, ...interface{}) (sql.Result, error)
	QueryRowContext(context.Context, string, ...interface{}) *sql.Row
}

type Queries struct{ db DBTX }

func New(db DBTX) *Queries { return &Queries{db} }
`,
		"example.test/pgxstore": `package pgxstore

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

type DBTX interface {
	Exec(context.Context, string, ...interface{}) (pgconn.CommandTag, error)
	QueryRow(context.Context, string, ...interface{}) pgx.Row
}

type Queries struct{ db DBTX }

func New(db DBTX) *Queries { return &Queries{db} }
`,
	}
	for path, name := range alike {
		texts[path] = "package " + name + shared
	}
	for path, text := range texts {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, text, 0)
		if err != nil {
			panic(err)
		}
		pkg, err := (&types.Config{Importer: maps.Clone(all)}).Check(path, fset, []*ast.File{file}, nil)
		if err != nil {
			panic(err)
		}
		all[path] = pkg
	}
	return all
})
