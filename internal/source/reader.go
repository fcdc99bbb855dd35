package source

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/idemgen/idemgen/internal/spec"
)

// reader reads one package into a draft.
type reader struct {
	pkg    *packages.Package
	parsed *parsedFiles
	at     positions

	problems spec.Problems
	// files are those of the user, in order of name.
	files []*ast.File
	// attached says what each comment group is the documentation of.
	attached map[*ast.CommentGroup]attachment
	// interfaces are all interfaces declared at package level, annotated or
	// not, in order.
	interfaces []*interfaceSource
}

// attachment is where a comment group belongs.
type attachment struct {
	owner *interfaceSource
	// method is the index of the method that it documents; -1 for the
	// interface itself.
	method int
	// misplaced says, for groups without an owner, what it documents.
	misplaced string
}

// interfaceSource is an interface declaration and what was read of it.
type interfaceSource struct {
	spec    *ast.TypeSpec
	typ     *ast.InterfaceType
	fields  []*ast.Field // its methods
	draft   spec.DraftInterface
	touched bool // a directive, or what was meant as one, stands on it
}

func newReader(pkg *packages.Package, dir string, parsed *parsedFiles) *reader {
	written := map[string]bool{}
	for _, file := range pkg.GoFiles {
		written[file] = true
	}
	return &reader{
		pkg: pkg, parsed: parsed, attached: map[*ast.CommentGroup]attachment{},
		at: positions{fset: pkg.Fset, dir: dir, written: written},
	}
}

func (r *reader) report(pos token.Position, code spec.Code, format string, args ...any) {
	r.problems = append(r.problems, spec.Problem{Pos: pos, Code: code, Message: fmt.Sprintf(format, args...)})
}

// read reads the package. Problems are in r.problems.
func (r *reader) read() *spec.Draft {
	draft := &spec.Draft{
		Package: &spec.Package{Name: r.pkg.Name, Path: r.pkg.PkgPath, Dir: r.pkg.Dir, Types: r.pkg.Types},
		Locate:  r.locate, Declared: r.declared,
	}
	if r.pkg.Module != nil {
		draft.Module = r.pkg.Module.Dir
	}
	for _, file := range r.pkg.Syntax {
		// Where it is masked the syntax is not the file's own.
		if name := r.fileName(file); filepath.Base(name) != OutputFile || !isOutputFile(name) {
			r.files = append(r.files, file)
		}
	}
	slices.SortFunc(r.files, func(a, b *ast.File) int { return strings.Compare(r.fileName(a), r.fileName(b)) })
	if r.syntaxErrors() {
		return draft
	}
	for _, file := range r.files {
		r.declarations(file)
		r.comments(file)
	}
	for _, in := range r.interfaces {
		if in.touched {
			r.finish(in)
			draft.Interfaces = append(draft.Interfaces, in.draft)
		}
	}
	if len(draft.Interfaces) > 0 {
		draft.Package.Taken = r.taken()
	}
	r.elsewhere(draft)
	return draft
}

func (r *reader) fileName(file *ast.File) string {
	return r.pkg.Fset.PositionFor(file.FileStart, false).Filename
}

// locate is spec.Draft's Locate.
func (r *reader) locate(obj types.Object) token.Position {
	if obj.Pkg() != r.pkg.Types {
		return token.Position{}
	}
	return r.at.at(obj.Pos())
}

// declared is spec.Draft's Declared.
func (r *reader) declared(obj *types.TypeName) types.Type {
	if obj.Pkg() != r.pkg.Types {
		return nil
	}
	for _, file := range r.pkg.Syntax {
		for _, decl := range file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.TYPE {
				continue
			}
			for _, s := range group.Specs {
				if t := s.(*ast.TypeSpec); r.pkg.TypesInfo.Defs[t.Name] == obj {
					return r.pkg.TypesInfo.TypeOf(t.Type)
				}
			}
		}
	}
	return nil
}

// excluded is where a file of the package's folder has its first directive, but
// the build leaves the file out. The position is not valid when there is none.
func (r *reader) excluded() token.Position {
	for _, file := range r.pkg.IgnoredFiles {
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || filepath.Base(file) == OutputFile {
			continue
		}
		if pos := firstDirective(file, r.pkg.Name); pos.IsValid() {
			pos.Filename = r.at.name(pos.Filename)
			return pos
		}
	}
	return token.Position{}
}

// elsewhere reports an annotated interface that this build leaves out beside one
// that it has: there is one output file, and the run for the other build would
// replace it.
func (r *reader) elsewhere(draft *spec.Draft) {
	pos := r.excluded()
	if len(draft.Interfaces) == 0 || !pos.IsValid() {
		return
	}
	in := draft.Interfaces[0]
	r.problems = append(r.problems, spec.Problem{
		Pos: pos, Code: spec.CodeConstraint,
		Message: "this build leaves the file out, but it has directives: the annotated interfaces of a package share one build constraint, since a run for the other build would replace what this one writes; " +
			"annotate one interface for all builds, or move one of them into a package of its own",
		Other: &spec.Other{Pos: in.Pos, Note: in.Name + " is"},
	})
}

// syntaxErrors reports the files that do not parse, each by its first error,
// and whether there are any: what was read of such a package is guesswork.
func (r *reader) syntaxErrors() bool {
	found := false
	for _, file := range r.pkg.CompiledGoFiles {
		list := r.parsed.errors[file]
		if len(list) == 0 || filepath.Base(file) == OutputFile && isOutputFile(file) {
			continue
		}
		pos := list[0].Pos
		pos.Filename = r.at.name(pos.Filename)
		r.report(pos, spec.CodeSyntax, "%s%s", list[0].Msg, r.newer())
		found = true
	}
	return found
}

// declarations finds the interfaces of a file, and what each of its
// documentation comments belongs to.
func (r *reader) declarations(file *ast.File) {
	r.misplaced(file.Doc, "the package clause")
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			r.misplaced(decl.Doc, "function "+decl.Name.Name)
		case *ast.GenDecl:
			if decl.Tok != token.TYPE {
				r.misplaced(decl.Doc, "a declaration of "+decl.Tok.String())
				continue
			}
			for _, s := range decl.Specs {
				r.typeSpec(decl, s.(*ast.TypeSpec))
			}
			if len(decl.Specs) != 1 {
				r.misplaced(decl.Doc, "a group of types, not on the interface in it")
			}
		}
	}
}

func (r *reader) misplaced(group *ast.CommentGroup, what string) {
	if group != nil {
		r.attached[group] = attachment{misplaced: what}
	}
}

// typeSpec notes what a type's comments belong to.
func (r *reader) typeSpec(decl *ast.GenDecl, t *ast.TypeSpec) {
	groups := []*ast.CommentGroup{t.Doc}
	if len(decl.Specs) == 1 {
		groups = append(groups, decl.Doc)
	}
	typ, ok := ast.Unparen(t.Type).(*ast.InterfaceType)
	if !ok || t.Assign.IsValid() {
		what := "type " + t.Name.Name + ", which is not an interface"
		if t.Assign.IsValid() {
			what = "the alias " + t.Name.Name + ", which is not a type of its own"
		}
		for _, group := range groups {
			r.misplaced(group, what)
		}
		return
	}
	in := &interfaceSource{spec: t, typ: typ}
	r.interfaces = append(r.interfaces, in)
	for _, group := range groups {
		if group != nil {
			r.attached[group] = attachment{owner: in, method: -1}
		}
	}
	for _, field := range typ.Methods.List {
		if len(field.Names) == 0 {
			r.misplaced(field.Doc, "an embedded type")
			continue
		}
		if field.Doc != nil {
			r.attached[field.Doc] = attachment{owner: in, method: len(in.fields)}
		}
		in.fields = append(in.fields, field)
		in.draft.Methods = append(in.draft.Methods, spec.DraftMethod{})
	}
}

// comments reads every comment of a file.
func (r *reader) comments(file *ast.File) {
	for _, group := range file.Comments {
		for _, comment := range group.List {
			reading := readComment(comment.Text, r.at.at(comment.Pos()))
			if reading.silent() {
				continue
			}
			r.problems = append(r.problems, reading.problems...)
			to, attached := r.attached[group]
			if attached && to.owner != nil {
				to.owner.add(to.method, reading)
				continue
			}
			if reading.ok {
				r.stray(file, group, comment, reading.directive, to.misplaced)
			}
		}
	}
}

// add keeps what a comment says on an interface or one of its methods.
func (in *interfaceSource) add(method int, reading reading) {
	in.touched = true
	spoilt := len(reading.problems) > 0
	if method < 0 {
		in.draft.Spoilt = in.draft.Spoilt || spoilt
		if reading.ok {
			in.draft.Directives = append(in.draft.Directives, reading.directive)
		}
		return
	}
	m := &in.draft.Methods[method]
	m.Spoilt = m.Spoilt || spoilt
	if reading.ok {
		m.Directives = append(m.Directives, reading.directive)
	}
}
