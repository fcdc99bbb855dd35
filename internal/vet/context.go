package vet

import (
	"go/ast"
	"go/types"
)

// context reports where a handler hands on a context that is not its own.
func (p *pkg) context(h handler, r *reached, f *function) {
	if !f.inline || !r.hasContext(f) {
		return
	}
	walk(f.decl.Body, func(n ast.Node, detached bool) {
		call, ok := n.(*ast.CallExpr)
		if !ok || detached {
			return
		}
		for _, argument := range call.Args {
			fresh, ok := ast.Unparen(argument).(*ast.CallExpr)
			if !ok {
				continue
			}
			switch name := p.callee(fresh); name {
			case "context.Background", "context.TODO":
				p.report(fresh, CategoryContext, "%s drops its context: %s() has neither its deadline nor its claim; hand on the handler's context, or context.WithoutCancel of it", h.through(f), name)
			}
		}
	})
}

// hasContext reports whether a function has the handler's context, as a
// parameter or in a request.
func (r *reached) hasContext(f *function) bool {
	for v := range f.obj.Signature().Params().Variables() {
		if types.Unalias(v.Type()).String() == "context.Context" || r.known[v]&request != 0 {
			return true
		}
	}
	return false
}
