package source

import (
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/idemgen/idemgen/internal/spec"
)

// FromSyntax reads the annotated interfaces of a package that somebody else
// has parsed, with comments, and type-checked, as analysis drivers do. It
// returns nil when there is no directive in it, or when its directives break
// rules: that is the generator's to say. Files of tests are not read.
func FromSyntax(fset *token.FileSet, files []*ast.File, pkg *types.Package, info *types.Info) *spec.Package {
	loaded := &packages.Package{Name: pkg.Name(), PkgPath: pkg.Path(), Fset: fset, Types: pkg, TypesInfo: info}
	parsed := &parsedFiles{content: map[string][]byte{}, errors: map[string]scanner.ErrorList{}}
	annotated := false
	for _, file := range files {
		name := fset.PositionFor(file.FileStart, false).Filename
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		loaded.Syntax = append(loaded.Syntax, file)
		loaded.GoFiles = append(loaded.GoFiles, name)
		loaded.Dir = filepath.Dir(name)
		annotated = annotated || mentionsDirective(file)
	}
	if !annotated {
		return nil
	}
	for _, name := range loaded.GoFiles {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil
		}
		parsed.content[name] = content
	}
	loaded.CompiledGoFiles = loaded.GoFiles
	r := newReader(loaded, loaded.Dir, parsed)
	draft := r.read()
	built, problems := spec.Build([]*spec.Draft{draft})
	if len(r.problems)+len(problems) > 0 || len(draft.Interfaces) == 0 {
		return nil
	}
	return built[0]
}

// mentionsDirective reports whether a comment of a file begins like a
// directive.
func mentionsDirective(file *ast.File) bool {
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, "//"+spec.Tool+":") {
				return true
			}
		}
	}
	return false
}
