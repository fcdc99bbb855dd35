package generate

import (
	"bytes"
	"fmt"
	"go/token"
	"os"
	"path/filepath"

	"github.com/idemgen/idemgen/internal/source"
	"github.com/idemgen/idemgen/internal/spec"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/templates"
)

// acceptable compares a package with its generated file that stands and reports
// what would make retries in flight run again: another scope, and under
// operation scope another operation name. Both are part of a row's primary
// key, so that the retry of a request which ran before the deploy finds no row
// after it. Every other change is safe: a row carries what it was made under.
func (r *run) acceptable(p *spec.Package) {
	name := filepath.Join(p.Dir, templates.FileName)
	content, err := os.ReadFile(name)
	if err != nil || !source.IsOutput(content) || bytes.Equal(withoutCR(content), r.result.Files[name]) {
		return // whoever writes the file says what is wrong with it
	}
	standing, err := standingEndpoints(name, content)
	if err != nil {
		r.result.Notes = append(r.result.Notes, fmt.Sprintf(
			"%s: it does not parse, so nobody can say whether scopes and operation names are still those that it was written with", r.result.Name(name)))
		return
	}
	for _, api := range p.APIs {
		for _, e := range api.Endpoints {
			if old := oldestRelative(standing, api, e); old != nil {
				r.compareIdentity(api, e, old)
			}
		}
	}
}

// oldestRelative finds the endpoint of the file that stands which an endpoint
// continues: one with the same operation name, of the same method if there are
// several, since the name is what the ledger knows; otherwise that of the same
// method. It is nil for a new endpoint.
func oldestRelative(standing []standingEndpoint, api *spec.API, e *spec.Endpoint) *standingEndpoint {
	var sameMethod, sameName *standingEndpoint
	for i := range standing {
		old := &standing[i]
		method := old.api == api.Name && old.method == e.Name
		name := old.operation == e.Policy.Operation
		switch {
		case method && name:
			return old
		case method:
			sameMethod = old
		case name:
			sameName = old
		}
	}
	if sameName != nil {
		return sameName
	}
	return sameMethod
}

// compareIdentity reports when an endpoint's keys live elsewhere than before.
func (r *run) compareIdentity(api *spec.API, e *spec.Endpoint, old *standingEndpoint) {
	const why = "the retry of a request that ran before would find no row and run again: undo it, or take it with -accept once no retry is in flight"
	method := api.Name + "." + e.Name
	switch {
	case old.scope != "" && old.scope != e.Policy.Scope:
		what := method
		origin := e.Origin("Scope")
		pos := origin.Pos
		if !pos.IsValid() {
			pos = e.Pos
		}
		if origin.Source == spec.FromInterface {
			what = api.Name // said once for all its methods
		}
		r.changed(pos, old.scopePos, "idem:scope: the scope of %s was %s and becomes %s: %s", what, old.scope, e.Policy.Scope, why)
	case e.Policy.Scope == runtime.ScopeOperation && old.operation != e.Policy.Operation:
		r.changed(e.Origin("Operation").Pos, old.operationPos, "idem:endpoint: under scope operation the operation of %s was %q and becomes %q: %s (use name=%q to keep it)",
			method, old.operation, e.Policy.Operation, why, old.operation)
	}
}

func (r *run) changed(pos, old token.Position, format string, args ...any) {
	old.Filename = r.result.Name(old.Filename)
	r.report(spec.Problem{
		Pos: pos, Code: spec.CodeNotAccepted, Message: fmt.Sprintf(format, args...),
		Other: &spec.Other{Pos: old, Note: "the generated file has the old value"},
	})
}
