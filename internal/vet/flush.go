package vet

import "go/ast"

// flush reports where a standard handler flushes its answer.
func (p *pkg) flush(h handler, f *function) {
	walk(f.decl.Body, func(n ast.Node, _ bool) {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return
		}
		switch p.callee(call) {
		case "(net/http.Flusher).Flush", "(*net/http.ResponseController).Flush":
			p.report(call, CategoryFlush, "%s flushes its answer, which is held back until it is stored: nothing streams under a key", h.through(f))
		}
	})
}
