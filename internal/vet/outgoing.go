package vet

import (
	"go/ast"
	"go/types"
	"net/http"
	"strings"
)

// runtimePath is the import path of the runtime.
const runtimePath = "github.com/idemgen/idemgen/runtime"

// unsafeMethods are the methods whose repetition has an effect.
var unsafeMethods = map[string]bool{
	http.MethodPost: true, http.MethodPut: true, http.MethodPatch: true, http.MethodDelete: true,
}

// outgoing reports unsafe requests that a handler sends without a key at hand.
// A key is at hand where the function, or one that it calls, derives it, and
// where a caller may hand it down.
func (p *pkg) outgoing(h handler, r *reached, f *function) {
	walk(f.decl.Body, func(n ast.Node, _ bool) {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return
		}
		method := p.unsafeRequest(call, r)
		if method == "" || p.keyAtHand(f) {
			return
		}
		p.report(call, CategoryOutgoing, "%s sends a %s without a key from runtime.DerivedKey: when the handler runs again, the other service cannot tell that it has had the request", h.through(f), method)
	})
}

// unsafeRequest is the method of the unsafe request that a call makes; "" when
// it makes none.
func (p *pkg) unsafeRequest(call *ast.CallExpr, r *reached) string {
	argument := 0
	switch p.callee(call) {
	case "net/http.Post", "net/http.PostForm", "(*net/http.Client).Post", "(*net/http.Client).PostForm":
		return http.MethodPost
	case "net/http.NewRequest":
	case "net/http.NewRequestWithContext":
		argument = 1
	default:
		return ""
	}
	if len(call.Args) <= argument {
		return ""
	}
	method := strings.ToUpper(p.constant(call.Args[argument]))
	if !unsafeMethods[method] || !r.sends() {
		return ""
	}
	return method
}

// keyAtHand reports whether a function can have a key to send.
func (p *pkg) keyAtHand(f *function) bool {
	if p.derives(f, map[*function]bool{}, false) {
		return true
	}
	return p.handedDown(f, map[*function]bool{})
}

// derives reports whether a function, or one that it calls, takes a key from
// the runtime. Where only results count, the calls must give a string back.
func (p *pkg) derives(f *function, seen map[*function]bool, results bool) bool {
	if seen[f] {
		return false
	}
	seen[f] = true
	found := false
	walk(f.decl.Body, func(n ast.Node, _ bool) {
		if call, ok := n.(*ast.CallExpr); ok {
			switch p.callee(call) {
			case runtimePath + ".DerivedKey", runtimePath + ".Key":
				found = true
			}
		}
	})
	if found {
		return true
	}
	for callee := range f.callees {
		if (!results || givesString(callee.obj)) && p.derives(callee, seen, results) {
			return true
		}
	}
	return false
}

// handedDown reports whether a caller has a key that it may hand down.
func (p *pkg) handedDown(f *function, seen map[*function]bool) bool {
	if seen[f] {
		return false
	}
	seen[f] = true
	for caller := range f.callers {
		if p.derives(caller, map[*function]bool{}, true) || p.handedDown(caller, seen) {
			return true
		}
	}
	return false
}

// givesString reports whether a function has a string among its results.
func givesString(f *types.Func) bool {
	for v := range f.Signature().Results().Variables() {
		if basic, ok := v.Type().Underlying().(*types.Basic); ok && basic.Info()&types.IsString != 0 {
			return true
		}
	}
	return false
}
