package source

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"

	"github.com/idemgen/idemgen/internal/regular"
)

// taken collects the names that generated code of the package must not
// declare: the package-level identifiers of all its files, whether or not this
// build has them, and the names that imports put into the scope of a file.
func (r *reader) taken() map[string]bool {
	taken := map[string]bool{}
	for _, name := range r.pkg.Types.Scope().Names() {
		taken[name] = true
	}
	for _, file := range r.files {
		r.importedNames(file, taken)
	}
	for _, name := range goFiles(r.pkg.Dir) {
		if r.parsed.content[name] == nil && filepath.Base(name) != OutputFile {
			declaredNames(name, r.pkg.Name, taken)
		}
	}
	return taken
}

// importedNames adds the names of a file's imports; of a dot import all that
// it imports.
func (r *reader) importedNames(file *ast.File, taken map[string]bool) {
	for _, spec := range file.Imports {
		name := r.pkg.TypesInfo.PkgNameOf(spec)
		switch {
		case name == nil:
		case name.Name() == ".":
			for _, exported := range name.Imported().Scope().Names() {
				if token.IsExported(exported) {
					taken[exported] = true
				}
			}
		case name.Name() != "_":
			taken[name.Name()] = true
		}
	}
}

// declaredNames adds what a file of the package declares and imports that this
// build does not have: one of a test, or under another build constraint. A
// file that does not parse adds what parses of it.
func declaredNames(file, packageName string, taken map[string]bool) {
	content, err := regular.ReadFile(file)
	if err != nil {
		return
	}
	parsed, _ := parser.ParseFile(token.NewFileSet(), file, content, parser.SkipObjectResolution)
	if parsed == nil || parsed.Name == nil || parsed.Name.Name != packageName {
		return
	}
	for _, decl := range parsed.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				taken[decl.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					taken[spec.Name.Name] = true
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						taken[name.Name] = true
					}
				case *ast.ImportSpec:
					if spec.Name != nil {
						taken[spec.Name.Name] = true
					} else {
						path := strings.Trim(spec.Path.Value, "\"`")
						taken[path[strings.LastIndexByte(path, '/')+1:]] = true
					}
				}
			}
		}
	}
}
