package vet

import (
	"go/ast"
	"go/types"
)

// sends reports whether a handler sends requests with a client that adds no
// key, as far as this package shows. A client that comes from elsewhere may
// have runtime.Transport, and one with a type of its own may do what it likes.
func (r *reached) sends() bool {
	for _, f := range r.functions {
		found := false
		walk(f.decl.Body, func(n ast.Node, _ bool) {
			if call, ok := n.(*ast.CallExpr); ok && r.pass.callee(call) == "(*net/http.Client).Do" {
				if selector, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
					found = found || r.pass.isPlain(selector.X)
				}
			}
		})
		if found {
			return true
		}
	}
	return false
}

// isPlain reports whether an expression is a client that adds no key.
func (p *pkg) isPlain(e ast.Expr) bool {
	if p.makesPlain(e) {
		return true
	}
	obj := p.variable(e)
	if obj == nil {
		return false
	}
	p.readClients()
	if plain, set := p.clients[obj]; set {
		return plain
	}
	// A client that is part of a value, and that nobody else can set, is the
	// zero one.
	v, ok := obj.(*types.Var)
	return ok && v.IsField() && !v.Exported() && isClient(v.Type())
}

// readClients notes for each variable and field of the package's that is set to
// a client whether all that it is set to add no key.
func (p *pkg) readClients() {
	if p.clients != nil {
		return
	}
	p.clients = map[types.Object]bool{}
	set := func(to, value ast.Expr) {
		obj := p.variable(to)
		if obj == nil || !isClient(obj.Type()) && !isClientPointer(obj.Type()) {
			return
		}
		before, again := p.clients[obj]
		p.clients[obj] = p.makesPlain(value) && (before || !again)
	}
	for _, obj := range p.order {
		ast.Inspect(p.decls[obj], func(n ast.Node) bool { p.clientSet(n, set); return true })
	}
	for _, file := range p.pass.Files {
		for _, decl := range file.Decls {
			if general, ok := decl.(*ast.GenDecl); ok {
				ast.Inspect(general, func(n ast.Node) bool { p.clientSet(n, set); return true })
			}
		}
	}
}

// clientSet visits what a node sets: variables, fields of values and the fields
// of composite literals.
func (p *pkg) clientSet(n ast.Node, set func(to, value ast.Expr)) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			value := n.Rhs[0]
			if len(n.Lhs) == len(n.Rhs) {
				value = n.Rhs[i]
			}
			set(left, value)
			// client.Transport = ... changes the client.
			if selector, ok := ast.Unparen(left).(*ast.SelectorExpr); ok && selector.Sel.Name == "Transport" {
				set(selector.X, value)
			}
		}
	case *ast.ValueSpec:
		for i, name := range n.Names {
			if i < len(n.Values) {
				set(name, n.Values[i])
			}
		}
	case *ast.KeyValueExpr:
		if _, ok := n.Key.(*ast.Ident); ok {
			set(n.Key, n.Value)
		}
	case *ast.CompositeLit:
		fields, ok := types.Unalias(p.pass.TypesInfo.TypeOf(n)).Underlying().(*types.Struct)
		if !ok {
			return
		}
		for i, element := range n.Elts {
			if _, keyed := element.(*ast.KeyValueExpr); !keyed && i < fields.NumFields() && isClientPointer(fields.Field(i).Type()) {
				p.clients[fields.Field(i)] = p.makesPlain(element)
			}
		}
	}
}

// makesPlain reports whether an expression is the default client, or a new one
// without a transport of its own.
func (p *pkg) makesPlain(e ast.Expr) bool {
	e = ast.Unparen(e)
	if address, ok := e.(*ast.UnaryExpr); ok {
		e = ast.Unparen(address.X)
	}
	switch e := e.(type) {
	case *ast.SelectorExpr:
		obj := p.pass.TypesInfo.Uses[e.Sel]
		return obj != nil && obj.Pkg() != nil && obj.Pkg().Path() == "net/http" && obj.Name() == "DefaultClient"
	case *ast.CompositeLit:
		if !isClient(p.pass.TypesInfo.TypeOf(e)) {
			return false
		}
		for _, element := range e.Elts {
			field, keyed := element.(*ast.KeyValueExpr)
			if !keyed {
				return false
			}
			if name, ok := field.Key.(*ast.Ident); ok && name.Name == "Transport" {
				return false
			}
		}
		return true
	}
	return false
}

// variable is the variable or field that an expression names; nil for others.
func (p *pkg) variable(e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return p.pass.TypesInfo.ObjectOf(e)
	case *ast.SelectorExpr:
		return p.pass.TypesInfo.Uses[e.Sel]
	}
	return nil
}

func isClient(t types.Type) bool { return types.Unalias(t).String() == "net/http.Client" }

func isClientPointer(t types.Type) bool { return types.Unalias(t).String() == "*net/http.Client" }
