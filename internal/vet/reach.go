package vet

import (
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/types/typeutil"
)

// kind is what a value is known to be.
type kind int

const (
	request     kind = 1 << iota // the handler's *http.Request, or a copy
	header                       // its headers
	transaction                  // the handler's transaction
)

// reached is everything that a handler runs in its own package.
type reached struct {
	pass      *pkg
	functions []*function // the handler first
	known     map[types.Object]kind
}

// function is one function that a handler runs.
type function struct {
	obj     *types.Func
	decl    *ast.FuncDecl
	callees map[*function]bool
	callers map[*function]bool
	// inline says that it runs before the handler returns: a way to it has no
	// go and no defer.
	inline bool
}

// reach follows the calls of a handler. What the handler is given it may hand
// on: parameters take the kinds of the arguments.
func (p *pkg) reach(h handler) *reached {
	r := &reached{pass: p, known: map[types.Object]kind{}}
	start := r.function(h.function)
	start.inline = true
	r.handed(h, start)
	for changed := true; changed; {
		changed = false
		for i := 0; i < len(r.functions); i++ {
			changed = r.follow(r.functions[i]) || changed
		}
	}
	return r
}

// function returns the node of a function of the package; nil for others.
func (r *reached) function(obj *types.Func) *function {
	obj = obj.Origin()
	if i := slices.IndexFunc(r.functions, func(f *function) bool { return f.obj == obj }); i >= 0 {
		return r.functions[i]
	}
	decl := r.pass.decls[obj]
	if decl == nil {
		return nil
	}
	f := &function{obj: obj, decl: decl, callees: map[*function]bool{}, callers: map[*function]bool{}}
	r.functions = append(r.functions, f)
	return f
}

// handed notes what the parameters of a handler are.
func (r *reached) handed(h handler, f *function) {
	params := f.obj.Signature().Params()
	switch {
	case h.Standard && params.Len() == 2:
		r.known[params.At(1)] = request
	case h.Tx && params.Len() > 1:
		r.known[params.At(1)] = transaction
	}
}

// follow looks through one function, and reports whether it learned anything.
func (r *reached) follow(f *function) (learned bool) {
	before := len(r.functions)
	learn := func(obj types.Object, k kind) {
		if obj != nil && k != 0 && r.known[obj]|k != r.known[obj] {
			r.known[obj] |= k
			learned = true
		}
	}
	walk(f.decl.Body, func(n ast.Node, detached bool) {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if len(n.Lhs) == len(n.Rhs) {
				for i, left := range n.Lhs {
					learn(r.object(left), r.kind(n.Rhs[i]))
				}
			}
		case *ast.ValueSpec:
			if len(n.Names) == len(n.Values) {
				for i, name := range n.Names {
					learn(r.object(name), r.kind(n.Values[i]))
				}
			}
		case *ast.FuncLit:
			if obj := standardRequest(r.pass.pass.TypesInfo.TypeOf(n)); obj != nil && r.knows(request) {
				learn(obj, request)
			}
		case *ast.CallExpr:
			callee := typeutil.StaticCallee(r.pass.pass.TypesInfo, n)
			if callee == nil {
				return
			}
			to := r.function(callee)
			if to == nil {
				return
			}
			f.callees[to], to.callers[f] = true, true
			if f.inline && !detached && !to.inline {
				to.inline, learned = true, true
			}
			params := to.obj.Signature().Params()
			for i, argument := range n.Args {
				if i < params.Len() {
					learn(params.At(i), r.kind(argument))
				}
			}
		}
	})
	return learned || len(r.functions) > before
}

// knows reports whether any value of a kind is known.
func (r *reached) knows(k kind) bool {
	for _, known := range r.known {
		if known&k != 0 {
			return true
		}
	}
	return false
}

// object is the variable that an expression names; nil for others.
func (r *reached) object(e ast.Expr) types.Object {
	ident, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return nil
	}
	return r.pass.pass.TypesInfo.ObjectOf(ident)
}

// kind is what an expression is known to be.
func (r *reached) kind(e ast.Expr) kind {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return r.known[r.object(e)]
	case *ast.SelectorExpr:
		if e.Sel.Name == "Header" && r.kind(e.X)&request != 0 {
			return header
		}
	case *ast.CallExpr:
		method, ok := ast.Unparen(e.Fun).(*ast.SelectorExpr)
		if !ok {
			return 0
		}
		switch method.Sel.Name {
		case "WithContext":
			return r.kind(method.X) & request
		case "Clone":
			return r.kind(method.X) & (request | header)
		}
	}
	return 0
}

// standardRequest is the request parameter of a standard handler's type; nil
// for other types.
func standardRequest(t types.Type) *types.Var {
	sig, ok := t.(*types.Signature)
	if !ok || sig.Params().Len() != 2 || sig.Params().At(0).Type().String() != "net/http.ResponseWriter" {
		return nil
	}
	if second := sig.Params().At(1); isRequest(second.Type()) {
		return second
	}
	return nil
}

func isRequest(t types.Type) bool { return types.Unalias(t).String() == "*net/http.Request" }

// walk visits a body. detached says that the node runs in a goroutine of its
// own, or deferred.
func walk(body ast.Node, visit func(n ast.Node, detached bool)) {
	var within func(n ast.Node, detached bool)
	within = func(n ast.Node, detached bool) {
		ast.Inspect(n, func(child ast.Node) bool {
			switch child := child.(type) {
			case nil:
				return false
			case *ast.GoStmt:
				within(child.Call, true)
				return false
			case *ast.DeferStmt:
				within(child.Call, true)
				return false
			}
			visit(child, detached)
			return true
		})
	}
	within(body, false)
}

// through says how a handler comes to a place in one of its functions, for
// messages.
func (h handler) through(f *function) string {
	if f.obj == h.function {
		return h.Method
	}
	return h.Method + ", through " + f.obj.Name() + ","
}

// callee is the full name of the function that a call calls, such as
// "(*database/sql.DB).Exec"; "" when it is not known.
func (p *pkg) callee(call *ast.CallExpr) string {
	if f, ok := typeutil.Callee(p.pass.TypesInfo, call).(*types.Func); ok {
		return f.FullName()
	}
	return ""
}

// constant is the value of a constant string; "" for other expressions.
func (p *pkg) constant(e ast.Expr) string { return constantString(p.pass.TypesInfo, e) }
