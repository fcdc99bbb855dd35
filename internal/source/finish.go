package source

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/idemgen/idemgen/internal/spec"
)

// finish fills the draft of an annotated interface from its syntax and types.
func (r *reader) finish(in *interfaceSource) {
	in.draft.Name = in.spec.Name.Name
	in.draft.Pos = r.at.at(in.spec.Name.Pos())
	in.draft.Constraint = r.constraint(in.spec.Pos())
	if in.spec.TypeParams != nil {
		in.draft.TypeParams = r.at.at(in.spec.TypeParams.Opening)
	}
	for _, field := range in.typ.Methods.List {
		if len(field.Names) == 0 {
			in.draft.Embedded = append(in.draft.Embedded, spec.DraftEmbedded{
				Text: types.ExprString(field.Type), Pos: r.at.at(field.Type.Pos()),
			})
		}
	}
	for i, field := range in.fields {
		r.method(&in.draft.Methods[i], field)
	}
	r.typeErrors(in)
}

// method fills the draft of one method.
func (r *reader) method(m *spec.DraftMethod, field *ast.Field) {
	name := field.Names[0]
	m.Name, m.Doc, m.Pos = name.Name, strings.TrimSpace(field.Doc.Text()), r.at.at(name.Pos())
	if f, ok := r.pkg.TypesInfo.Defs[name].(*types.Func); ok {
		m.Signature = f.Signature()
	}
	if function, ok := field.Type.(*ast.FuncType); ok {
		m.Params = r.fieldTypes(function.Params)
		m.Results = r.fieldTypes(function.Results)
	}
}

// fieldTypes lists the types of parameters or results, one for each name.
func (r *reader) fieldTypes(list *ast.FieldList) []spec.DraftType {
	if list == nil {
		return nil
	}
	var all []spec.DraftType
	for _, field := range list.List {
		t := spec.DraftType{Text: types.ExprString(field.Type), Pos: r.at.at(field.Type.Pos()), Import: r.importOf(field.Type)}
		for range max(1, len(field.Names)) {
			all = append(all, t)
		}
	}
	return all
}

// importOf is the path of the first imported package that a type expression
// names, or "".
func (r *reader) importOf(expr ast.Expr) string {
	path := ""
	ast.Inspect(expr, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok && path == "" {
			if ident, ok := selector.X.(*ast.Ident); ok {
				if name, ok := r.pkg.TypesInfo.Uses[ident].(*types.PkgName); ok {
					path = name.Imported().Path()
				}
			}
		}
		return path == ""
	})
	return path
}

// typeErrors reports the type checker's errors inside an annotated interface.
// Errors elsewhere are the compiler's business: code that uses what is not
// generated yet has many.
func (r *reader) typeErrors(in *interfaceSource) {
	for _, e := range r.pkg.TypeErrors {
		inside := in.spec.Pos() <= e.Pos && e.Pos <= in.spec.End()
		// A message that begins with a tab belongs to the one before it.
		if !inside || e.Soft || strings.HasPrefix(e.Msg, "\t") {
			continue
		}
		where := in.spec.Name.Name
		for i, field := range in.fields {
			if field.Pos() <= e.Pos && e.Pos <= field.End() {
				where = field.Names[0].Name
				in.draft.Methods[i].Signature = nil
			}
		}
		r.report(r.at.at(e.Pos), spec.CodeUnresolved, "%s: %s%s%s", where, e.Msg, r.meant(e), r.newer())
	}
}

// meant suggests a type of the package for an undefined name.
func (r *reader) meant(e types.Error) string {
	name, ok := strings.CutPrefix(e.Msg, "undefined: ")
	if !ok || !token.IsIdentifier(name) {
		return ""
	}
	scope := r.pkg.Types.Scope()
	var typeNames []string
	for _, candidate := range scope.Names() {
		if _, ok := scope.Lookup(candidate).(*types.TypeName); ok {
			typeNames = append(typeNames, candidate)
		}
	}
	if near := spec.Suggest(name, typeNames); near != "" {
		return " (did you mean " + near + "?)"
	}
	return ""
}
