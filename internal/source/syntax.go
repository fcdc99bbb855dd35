package source

import (
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/idemgen/idemgen/internal/regular"
	"github.com/idemgen/idemgen/internal/spec"
)

// FromSyntax is ReadSyntax for those who are not to report what is wrong with
// the directives, which is the generator's to say: there is no package then.
func FromSyntax(fset *token.FileSet, files []*ast.File, pkg *types.Package, info *types.Info) *spec.Package {
	read, problems := ReadSyntax(fset, files, pkg, info)
	if len(problems) > 0 {
		return nil
	}
	return read
}

// ReadSyntax reads the annotated interfaces of a package that somebody else has
// parsed, with comments, and type-checked, as analysis drivers do. The package
// is nil when there is no directive in it. Files of tests are not read.
func ReadSyntax(fset *token.FileSet, files []*ast.File, pkg *types.Package, info *types.Info) (*spec.Package, spec.Problems) {
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
		return nil, nil
	}
	for _, name := range loaded.GoFiles {
		content, err := regular.ReadFile(name)
		if err != nil {
			return nil, nil
		}
		parsed.content[name] = content
	}
	loaded.CompiledGoFiles = loaded.GoFiles
	r := newReader(loaded, loaded.Dir, parsed)
	draft := r.read()
	built, problems := spec.Build([]*spec.Draft{draft})
	problems = append(r.problems, problems...)
	if len(problems) > 0 || len(draft.Interfaces) == 0 {
		return nil, problems
	}
	return built[0], nil
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
