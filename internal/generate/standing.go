package generate

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/templates"
)

// standingEndpoint is what the generated file that stands says about the
// identity of an endpoint's keys. Scope is "" when it cannot be read.
type standingEndpoint struct {
	api, method  string // of the Go interface and its method
	operation    string
	scope        runtime.Scope
	keyHeader    string
	keySyntax    runtime.KeySyntax
	keyMax       int
	operationPos token.Position
	scopePos     token.Position
	keyHeaderPos token.Position
	keySyntaxPos token.Position
	keyMaxPos    token.Position
}

// standingRows is where the rows of an interface's keys are, as the generated
// file that stands says.
type standingRows struct {
	engines []string
	table   string
	pos     token.Position
}

// rowsOf reads where the rows of each interface's keys are. An interface whose
// ledger is not generated has no entry.
func rowsOf(name string, content []byte) map[string]standingRows {
	all := map[string]standingRows{}
	number := 0
	for line := range strings.Lines(string(content)) {
		number++
		text, found := strings.CutPrefix(line, templates.RowsPrefix)
		if fields := strings.Fields(text); found && len(fields) == 3 {
			all[fields[0]] = standingRows{strings.Split(fields[1], ","), fields[2], token.Position{Filename: name, Line: number, Column: 1}}
		}
	}
	return all
}

// standingEndpoints reads the endpoints of a generated file. There are none in a
// file that does not look like one of this version: there is nothing to compare
// with then. One that does not parse, as after a merge, is an error.
func standingEndpoints(name string, content []byte) ([]standingEndpoint, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, content, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	policies := map[string]standingEndpoint{}
	for _, decl := range file.Decls {
		if variables, ok := decl.(*ast.GenDecl); ok && variables.Tok == token.VAR {
			for _, s := range variables.Specs {
				if v := s.(*ast.ValueSpec); len(v.Names) == 1 && len(v.Values) == 1 {
					readPolicy(fset, v, policies)
				}
			}
		}
	}
	var endpoints []standingEndpoint
	for _, decl := range file.Decls {
		if constructor, ok := decl.(*ast.FuncDecl); ok && constructor.Recv == nil {
			endpoints = append(endpoints, readConstructor(constructor, policies)...)
		}
	}
	return endpoints, nil
}

// readPolicy reads a variable that is set to a literal of runtime.Policy, and
// keeps what it says by the variable's name.
func readPolicy(fset *token.FileSet, v *ast.ValueSpec, policies map[string]standingEndpoint) {
	literal, ok := v.Values[0].(*ast.CompositeLit)
	if !ok || selected(literal.Type) != "Policy" {
		return
	}
	var e standingEndpoint
	for _, element := range literal.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		switch key, _ := pair.Key.(*ast.Ident); {
		case key == nil:
		case key.Name == "Operation":
			if text, ok := pair.Value.(*ast.BasicLit); ok {
				e.operation, _ = strconv.Unquote(text.Value)
				e.operationPos = fset.Position(pair.Pos())
			}
		case key.Name == "KeyHeader":
			if text, ok := pair.Value.(*ast.BasicLit); ok {
				e.keyHeader, _ = strconv.Unquote(text.Value)
				e.keyHeaderPos = fset.Position(pair.Pos())
			}
		case key.Name == "KeyMax":
			if text, ok := pair.Value.(*ast.BasicLit); ok {
				e.keyMax, _ = strconv.Atoi(text.Value)
				e.keyMaxPos = fset.Position(pair.Pos())
			}
		case key.Name == "KeySyntax":
			e.keySyntaxPos = fset.Position(pair.Pos())
			switch selected(pair.Value) {
			case "KeyRaw":
				e.keySyntax = runtime.KeyRaw
			case "KeySF":
				e.keySyntax = runtime.KeySF
			}
		case key.Name == "Scope":
			e.scopePos = fset.Position(pair.Pos())
			switch selected(pair.Value) {
			case "ScopePrincipal":
				e.scope = runtime.ScopePrincipal
			case "ScopeOperation":
				e.scope = runtime.ScopeOperation
			}
		}
	}
	policies[v.Names[0].Name] = e
}

// selected is the name behind the package in an expression such as
// runtime.Policy; "" for other expressions.
func selected(expr ast.Expr) string {
	if selector, ok := expr.(*ast.SelectorExpr); ok {
		return selector.Sel.Name
	}
	return ""
}

// readConstructor finds the endpoints in a server's constructor. Its first
// parameter is the interface; each assignment of a handler names the policy
// and, somewhere inside, the method.
func readConstructor(constructor *ast.FuncDecl, policies map[string]standingEndpoint) []standingEndpoint {
	parameters := constructor.Type.Params.List
	if len(parameters) == 0 || len(parameters[0].Names) != 1 || constructor.Body == nil {
		return nil
	}
	api, ok := parameters[0].Type.(*ast.Ident)
	if !ok {
		return nil
	}
	impl := parameters[0].Names[0].Name
	var endpoints []standingEndpoint
	for _, statement := range constructor.Body.List {
		assignment, ok := statement.(*ast.AssignStmt)
		if !ok || len(assignment.Rhs) != 1 {
			continue
		}
		var e standingEndpoint
		ast.Inspect(assignment.Rhs[0], func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if policy, ok := policies[n.Name]; ok {
					policy.api, policy.method = e.api, e.method
					e = policy
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == impl {
					e.api, e.method = api.Name, n.Sel.Name
				}
			}
			return true
		})
		if e.method != "" && e.operation != "" {
			endpoints = append(endpoints, e)
		}
	}
	return endpoints
}
