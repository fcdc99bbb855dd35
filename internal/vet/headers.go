package vet

import (
	"go/ast"
	"go/constant"
	"go/types"
	"net/textproto"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/runtime"
)

// headers reports the request headers that a standard handler reads although
// its fingerprint does not see them.
func (p *pkg) headers(h handler, r *reached, f *function) {
	r.headerReads(f.decl.Body, func(at ast.Node, name string) {
		lower := strings.ToLower(name)
		switch {
		case p.keyHeaders[lower] || slices.Contains(h.Headers, lower):
			// The key header has a category of its own.
		case isCredential(lower):
			p.report(at, CategoryHeader, "%s reads request header %q, which its fingerprint does not see: take the caller from runtime.Principal(ctx), or two callers' requests may be told from each other too late", h.through(f), canonical(name))
		case !mayJoin(lower):
		default:
			p.report(at, CategoryHeader, "%s reads request header %q, which is not in its fingerprint: a retry that differs in it would get the first answer; add it to //idem:fingerprint", h.through(f), canonical(name))
		}
	})
}

// keysByHand reports where functions of a package with endpoints read a key
// header off a request that they are given.
func (p *pkg) keysByHand() {
	if len(p.keyHeaders) == 0 {
		return
	}
	for _, obj := range p.order {
		r := &reached{pass: p, known: map[types.Object]kind{}}
		f := r.function(obj)
		for v := range obj.Signature().Params().Variables() {
			if isRequest(v.Type()) {
				r.known[v] = request
			}
		}
		walk(f.decl.Body, func(n ast.Node, _ bool) {
			if literal, ok := n.(*ast.FuncLit); ok {
				if v := standardRequest(p.pass.TypesInfo.TypeOf(literal)); v != nil {
					r.known[v] = request
				}
			}
		})
		if len(r.known) == 0 {
			continue
		}
		for r.follow(f) {
		}
		r.headerReads(f.decl.Body, func(at ast.Node, name string) {
			if p.keyHeaders[strings.ToLower(name)] {
				p.report(at, CategoryKey, "%s reads the key header %q by hand: runtime.Key(ctx) is the key that was checked and claimed", f.obj.Name(), canonical(name))
			}
		})
	}
}

// headerReads visits the places of a body that read a known request header.
func (r *reached) headerReads(body ast.Node, visit func(at ast.Node, name string)) {
	written := map[ast.Expr]bool{}
	walk(body, func(n ast.Node, _ bool) {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				written[ast.Unparen(left)] = true
			}
		case *ast.IndexExpr:
			if name := r.pass.constant(n.Index); name != "" && r.kind(n.X)&header != 0 && !written[n] {
				visit(n, name)
			}
		case *ast.CallExpr:
			method, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr)
			if !ok {
				return
			}
			from := r.kind(method.X)
			switch name := method.Sel.Name; {
			case from&header != 0 && (name == "Get" || name == "Values") && len(n.Args) == 1:
				if name := r.pass.constant(n.Args[0]); name != "" {
					visit(n, name)
				}
			case from&request != 0 && readers[name] != "":
				visit(n, readers[name])
			}
		}
	})
}

// readers are the methods of a request that read one header.
var readers = map[string]string{
	"Cookie": "Cookie", "Cookies": "Cookie", "CookiesNamed": "Cookie",
	"BasicAuth": "Authorization", "Referer": "Referer", "UserAgent": "User-Agent",
}

// isCredential reports whether a header may not join a fingerprint because it
// names the caller.
func isCredential(lower string) bool {
	policy := runtime.DefaultPolicy("POST /")
	policy.Fingerprint.Headers = []string{lower}
	return slices.ContainsFunc(policy.Problems(), func(p runtime.PolicyProblem) bool { return strings.Contains(p.Message, "credential") })
}

// mayJoin reports whether a header may join a fingerprint at all. The rule is
// the policy's own.
func mayJoin(lower string) bool {
	policy := runtime.DefaultPolicy("POST /")
	policy.Fingerprint.Headers = []string{lower}
	return len(policy.Problems()) == 0
}

func canonical(name string) string { return textproto.CanonicalMIMEHeaderKey(name) }

func constantString(info *types.Info, e ast.Expr) string {
	value := info.Types[e].Value
	if value == nil || value.Kind() != constant.String {
		return ""
	}
	return constant.StringVal(value)
}
