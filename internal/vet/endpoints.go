package vet

import (
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/idemgen/idemgen/internal/source"
	"github.com/idemgen/idemgen/internal/spec"
)

// annotated is the fact that an interface is annotated, for the packages that
// implement it.
type annotated struct {
	Endpoints []endpoint
}

// endpoint is what the analyzer knows of one annotated method.
type endpoint struct {
	Method    string   // the Go method
	KeyHeader string   // in lower case
	Headers   []string // the fingerprint's, in lower case
	Standard  bool
	Tx        bool
}

// AFact marks annotated as a fact.
func (*annotated) AFact() {}

func (a *annotated) String() string {
	names := make([]string, len(a.Endpoints))
	for i, e := range a.Endpoints {
		names[i] = e.Method
	}
	return "endpoints " + strings.Join(names, " ")
}

// exportAnnotated reads the package's annotated interfaces into facts.
func exportAnnotated(pass *analysis.Pass) {
	read := source.FromSyntax(pass.Fset, pass.Files, pass.Pkg, pass.TypesInfo)
	if read == nil {
		return
	}
	for _, api := range read.APIs {
		fact := &annotated{}
		for _, e := range api.Endpoints {
			fact.Endpoints = append(fact.Endpoints, endpoint{
				Method: e.Name, KeyHeader: strings.ToLower(e.Policy.KeyHeader), Headers: e.Policy.Fingerprint.Headers,
				Standard: e.Shape == spec.Standard, Tx: e.Tx != nil,
			})
		}
		if obj := pass.Pkg.Scope().Lookup(api.Name); obj != nil {
			pass.ExportObjectFact(obj, fact)
		}
	}
}

// handler is a method that implements an endpoint.
type handler struct {
	endpoint
	function *types.Func
}

// handlers finds the handlers that the package declares, in the order of the
// source, and the key headers of its endpoints.
func (p *pkg) handlers() []handler {
	p.keyHeaders = map[string]bool{}
	found := map[*types.Func][]handler{}
	for _, fact := range p.pass.AllObjectFacts() {
		about, ok := fact.Fact.(*annotated)
		if !ok {
			continue
		}
		in, ok := fact.Object.Type().Underlying().(*types.Interface)
		if !ok {
			continue
		}
		here := fact.Object.Pkg() == p.pass.Pkg
		for _, name := range p.pass.Pkg.Scope().Names() {
			named, ok := p.pass.Pkg.Scope().Lookup(name).(*types.TypeName)
			if !ok || named.IsAlias() || types.IsInterface(named.Type()) || isGeneric(named.Type()) {
				continue
			}
			if !types.Implements(types.NewPointer(named.Type()), in) {
				continue
			}
			for _, e := range about.Endpoints {
				obj, _, _ := types.LookupFieldOrMethod(named.Type(), true, p.pass.Pkg, e.Method)
				f, ok := obj.(*types.Func)
				if ok && p.decls[f] != nil {
					here = true
					found[f] = append(found[f], handler{e, f})
				}
			}
		}
		if here {
			for _, e := range about.Endpoints {
				p.keyHeaders[e.KeyHeader] = true
			}
		}
	}
	var all []handler
	for _, f := range p.order {
		all = append(all, found[f]...)
	}
	return all
}

func isGeneric(t types.Type) bool {
	named, ok := t.(*types.Named)
	return ok && named.TypeParams().Len() > 0
}
