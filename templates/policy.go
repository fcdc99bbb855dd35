package templates

import (
	"github.com/dave/jennifer/jen"

	"github.com/idemgen/idemgen/internal/spec"
	"github.com/idemgen/idemgen/runtime"
)

// policy writes an endpoint's policy as data, every field on a line of its own:
// a change of the generator's defaults then changes no endpoint in silence, and
// a change of a directive shows as the line it is.
func (f *file) policy(api *spec.API, e *spec.Endpoint, names endpointNames) {
	p := e.Policy
	fields := []jen.Code{
		field("Operation", jen.Lit(p.Operation)),
		field("KeyHeader", jen.Lit(p.KeyHeader)),
		field("KeyOptional", jen.Lit(p.KeyOptional)),
		field("KeySyntax", f.constant("KeySyntax", string(p.KeySyntax), keySyntaxes)),
		field("KeyMax", number(int64(p.KeyMax))),
		field("Fingerprint", f.rule(p.Fingerprint)),
		field("RequestMax", size(p.RequestMax)),
		field("Encodings", stringList(p.Encodings)),
		field("ResponseMax", size(p.ResponseMax)),
		field("Replay", stringList(p.Replay)),
		field("Lease", f.duration(p.Lease)),
		field("Timeout", f.duration(p.Timeout)),
		field("Renew", jen.Lit(p.Renew)),
		field("Retain", f.duration(p.Retain)),
		field("Gone", f.duration(p.Gone)),
		field("Sweep", number(int64(p.Sweep))),
		field("Scope", f.constant("Scope", string(p.Scope), scopes)),
		field("Mismatch", number(int64(p.Mismatch))),
		field("Failure", f.constant("Failure", string(p.Failure), failures)),
		field("Wait", f.duration(p.Wait)),
		field("Once", jen.Lit(p.Once)),
		field("Retry", number(int64(p.Retry))),
		field("Errors", f.constant("ErrorForm", string(p.Errors), errorForms)),
		field("ReplayMarker", jen.Lit(p.ReplayMarker)),
	}
	f.Add(comment("%s is what %s.%s promises to its callers and demands of them.", names.policy, api.Name, e.Name))
	f.Var().Id(names.policy).Op("=").Add(f.qual(runtimePackage, "Policy")).Custom(literalLines, fields...)
	f.Line()
}

// literalLines puts each field of a composite literal on a line of its own.
var literalLines = jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}

func field(name string, value jen.Code) jen.Code {
	return jen.Id(name).Op(":").Add(value)
}

func (f *file) rule(r runtime.Rule) jen.Code {
	return f.qual(runtimePackage, "Rule").Values(
		field("Body", f.constant("BodyMode", string(r.Body), bodyModes)),
		field("Headers", stringList(r.Headers)),
	)
}

func stringList(list []string) jen.Code {
	if len(list) == 0 {
		return jen.Nil()
	}
	items := make([]jen.Code, len(list))
	for i, item := range list {
		items[i] = jen.Lit(item)
	}
	return jen.Index().String().Values(items...)
}

// constant names a constant of package runtime.
func (f *file) constant(typeName, value string, names map[string]string) jen.Code {
	if name, ok := names[value]; ok {
		return f.qual(runtimePackage, name)
	}
	return f.qual(runtimePackage, typeName).Call(jen.Lit(value))
}

var (
	keySyntaxes = map[string]string{string(runtime.KeyRaw): "KeyRaw", string(runtime.KeySF): "KeySF"}
	bodyModes   = map[string]string{string(runtime.BodyRaw): "BodyRaw", string(runtime.BodyJSON): "BodyJSON"}
	scopes      = map[string]string{string(runtime.ScopePrincipal): "ScopePrincipal", string(runtime.ScopeOperation): "ScopeOperation"}
	failures    = map[string]string{string(runtime.FailureStore): "FailureStore", string(runtime.FailureRelease): "FailureRelease", string(runtime.FailureHold): "FailureHold"}
	errorForms  = map[string]string{string(runtime.ErrorsProblem): "ErrorsProblem", string(runtime.ErrorsJSON): "ErrorsJSON"}
)
