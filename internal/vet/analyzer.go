// Package vet finds mistakes in the handlers of annotated interfaces that the
// generator cannot see, because they are in the handlers' bodies.
//
// It is a go/analysis analyzer. The command idemgen runs it as idemgen vet, and
// speaks the protocol of go vet, so that
//
//	go vet -vettool=$(which idemgen) ./...
//
// works without a program of its own.
package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Doc is the documentation of the analyzer.
var Doc = doc()

func doc() string {
	var b strings.Builder
	b.WriteString(`find mistakes in handlers of endpoints that idemgen makes safe to retry

A handler is a method of a type that implements an annotated interface. The
analyzer follows the calls that it makes in its own package, and asks:

`)
	for _, rule := range Rules() {
		b.WriteString(wrapped("  - ", rule.Code+": "+rule.Text))
	}
	b.WriteString("\nFiles of tests and generated files are not looked at.")
	return b.String()
}

// wrapped is an item of a list in lines of at most 80 characters.
func wrapped(mark, text string) string {
	var b strings.Builder
	line := mark
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case len(line)+1+len(word) > 80:
			b.WriteString(line + "\n")
			line = strings.Repeat(" ", len(mark)) + word
		default:
			line += " " + word
		}
	}
	return b.String() + line + "\n"
}

// Analyzer is the analyzer.
var Analyzer = &analysis.Analyzer{
	Name:      "idem",
	Doc:       Doc,
	URL:       "https://github.com/idemgen/idemgen",
	Run:       run,
	FactTypes: []analysis.Fact{new(annotated)},
}

func run(pass *analysis.Pass) (any, error) {
	exportAnnotated(pass)
	p := &pkg{pass: pass, decls: map[*types.Func]*ast.FuncDecl{}, reported: map[finding]bool{}}
	p.declarations()
	for _, h := range p.handlers() {
		p.check(h)
	}
	p.keysByHand()
	return nil, nil
}

// pkg is the package under analysis.
type pkg struct {
	pass *analysis.Pass
	// decls are its functions, without those of tests and generated files.
	decls map[*types.Func]*ast.FuncDecl
	// order are the functions in the order of the source.
	order []*types.Func
	// keyHeaders are the key headers of the endpoints that are declared or
	// implemented here, in lower case.
	keyHeaders map[string]bool
	reported   map[finding]bool
	// clients says of the variables and fields that are set to an *http.Client
	// here whether it adds no key; nil before they are asked for.
	clients map[types.Object]bool
}

// finding identifies a finding: several endpoints may reach one place.
type finding struct {
	pos      token.Pos
	category string
}

// declarations collects the functions of the package.
func (p *pkg) declarations() {
	for _, file := range p.pass.Files {
		name := p.pass.Fset.PositionFor(file.FileStart, false).Filename
		if strings.HasSuffix(name, "_test.go") || ast.IsGenerated(file) {
			continue
		}
		for _, decl := range file.Decls {
			function, ok := decl.(*ast.FuncDecl)
			if !ok || function.Body == nil {
				continue
			}
			if obj, ok := p.pass.TypesInfo.Defs[function.Name].(*types.Func); ok {
				p.decls[obj] = function
				p.order = append(p.order, obj)
			}
		}
	}
}

// report reports a finding once.
func (p *pkg) report(at ast.Node, category, format string, args ...any) {
	f := finding{at.Pos(), category}
	if p.reported[f] {
		return
	}
	p.reported[f] = true
	p.pass.Report(analysis.Diagnostic{Pos: at.Pos(), End: at.End(), Category: category, Message: fmt.Sprintf(format, args...)})
}

// check checks one handler with all that it calls in its package.
func (p *pkg) check(h handler) {
	r := p.reach(h)
	for _, f := range r.functions {
		if h.Standard {
			p.headers(h, r, f)
			p.flush(h, f)
		}
		if h.Tx {
			p.transaction(h, r, f)
		}
		p.outgoing(h, r, f)
		p.context(h, r, f)
	}
}
