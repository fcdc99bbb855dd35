package source

import (
	"bytes"
	"go/ast"
	"go/token"
	"slices"

	"github.com/idemgen/idemgen/internal/spec"
)

// stray reports a directive that belongs to no interface and no method.
func (r *reader) stray(file *ast.File, group *ast.CommentGroup, comment *ast.Comment, d spec.Directive, misplaced string) {
	name := "//" + spec.Tool + ":" + d.Name
	switch in, method := r.surrounding(comment.Pos()); {
	case misplaced != "":
		r.report(d.Pos, spec.CodeMisplaced, "%s stands on %s: directives stand on interfaces and their methods", name, misplaced)
	case r.isTrailing(file, comment):
		r.report(d.Pos, spec.CodeTrailing, "%s stands behind code on its line: put it on a line of its own, above what it is about", name)
		if in != nil {
			in.spoil(method)
		}
	case in != nil && method >= 0:
		r.report(d.Pos, spec.CodeDetached, "%s is not attached to method %s: put it directly above, without a blank line between", name, in.fields[method].Names[0].Name)
		in.spoil(method)
	case in != nil:
		r.report(d.Pos, spec.CodeDetached, "%s is not attached to a method: no method follows it in %s", name, in.spec.Name.Name)
		in.touched = true
	default:
		r.outside(file, group, d, name)
	}
}

// spoil notes that a directive of a method, or of the interface when method is
// below 0, is broken and was reported.
func (in *interfaceSource) spoil(method int) {
	in.touched = true
	if method < 0 {
		in.draft.Spoilt = true
	} else {
		in.draft.Methods[method].Spoilt = true
	}
}

// surrounding finds the interface that pos lies in, and the method that pos is
// above or at; -1 when it is below the last one.
func (r *reader) surrounding(pos token.Pos) (*interfaceSource, int) {
	for _, in := range r.interfaces {
		if pos < in.spec.Pos() || pos > in.typ.End() && r.line(pos) > r.line(in.typ.End()) {
			continue
		}
		return in, slices.IndexFunc(in.fields, func(field *ast.Field) bool { return r.line(pos) <= r.line(field.End()) })
	}
	return nil, -1
}

func (r *reader) line(pos token.Pos) int { return r.pkg.Fset.PositionFor(pos, false).Line }

// isTrailing reports whether there is code before a comment on its line.
func (r *reader) isTrailing(file *ast.File, comment *ast.Comment) bool {
	content := r.parsed.content[r.fileName(file)]
	offset := r.pkg.Fset.PositionFor(comment.Pos(), false).Offset
	line := content[bytes.LastIndexByte(content[:offset], '\n')+1 : offset]
	return len(bytes.TrimSpace(line)) > 0
}

// outside reports a directive outside all interfaces.
func (r *reader) outside(file *ast.File, group *ast.CommentGroup, d spec.Directive, name string) {
	for _, decl := range file.Decls {
		if decl.Pos() <= group.Pos() && group.Pos() < decl.End() {
			r.report(d.Pos, spec.CodeMisplaced, "%s stands inside %s: directives stand on interfaces at package level and their methods", name, declared(decl, group.Pos()))
			return
		}
	}
	for _, in := range r.interfaces {
		next := in.spec.Pos() > group.Pos() && !slices.ContainsFunc(file.Decls, func(decl ast.Decl) bool {
			return decl.Pos() > group.Pos() && decl.End() < in.spec.Pos()
		})
		if next && r.pkg.Fset.File(in.spec.Pos()) == r.pkg.Fset.File(group.Pos()) {
			r.report(d.Pos, spec.CodeDetached, "%s is not attached to interface %s: put it directly above, without a blank line between", name, in.spec.Name.Name)
			in.spoil(-1)
			return
		}
	}
	r.report(d.Pos, spec.CodeMisplaced, "%s stands on nothing: directives stand on interfaces and their methods", name)
}

// declared names the declaration around pos for a message.
func declared(decl ast.Decl, pos token.Pos) string {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		return "function " + decl.Name.Name
	case *ast.GenDecl:
		for _, s := range decl.Specs {
			if t, ok := s.(*ast.TypeSpec); ok && t.Pos() <= pos && pos < t.End() {
				return "type " + t.Name.Name
			}
		}
	}
	return "a declaration"
}
