package spec

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/runtime"
)

// input reads the request parameter.
func (e *endpointBuilder) input() {
	names := wildcards(e.endpoint.Pattern)
	if e.signature.shape != Typed {
		return
	}
	var filled []Field
	if in := e.signature.in; in != nil {
		root, pointer := dereference(in)
		reader := fieldReader{pkg: e.draft.Package.Types, locate: e.draft.Locate, declared: e.draft.Declared, method: e.method.Name, root: root, pos: e.signature.inPos, elsewhere: e.isResult}
		reader.read()
		filled = reader.fields
		e.problems = append(e.problems, reader.problems...)
		e.endpoint.In = &Input{Type: root, Pointer: pointer, Body: hasBody(root), Validate: e.validation(root), Fields: filled}
		e.endpoint.In.Strict = e.strict()
		e.fillable(reader)
		e.seenHeaders(reader)
		if !e.pathFields(reader, names) || len(reader.problems) > 0 {
			return // a wildcard may only seem to have no field
		}
	}
	for _, name := range names {
		isIt := func(f Field) bool { return f.Place == Path && f.Name == name }
		if !slices.ContainsFunc(filled, isIt) && e.routeGood {
			e.report(e.args.Endpoint.Pattern.Pos, CodeWildcard, nil, "idem:endpoint: wildcard {%s} has no field: give the request of %s one with the tag `path:\"%s\"`", name, e.method.Name, name)
		}
	}
}

// fillable checks that JSON can fill what is left to the body.
func (e *endpointBuilder) fillable(reader fieldReader) {
	text := typeText(reader.root, reader.pkg)
	found := unfillable(reader.root)
	if s, _ := structOf(reader.root); found == nil && len(reader.fields) == 0 && !readsItself(reader.root) && opaque(s) {
		e.report(e.signature.inPos, CodeJSON, nil, "%s: nothing fills the request %s: it has only fields that are not exported, and no method that reads JSON", e.method.Name, text)
		return
	}
	if found == nil {
		return
	}
	pos := e.draft.Locate(found.field)
	if !pos.IsValid() {
		pos = e.signature.inPos
	}
	e.report(pos, CodeJSON, nil, "%s: no JSON fills %s of the request %s: it %s (json:\"-\" leaves it out)", e.method.Name, found.way, text, found.why)
}

// pathFields checks that each path field has its wildcard.
func (e *endpointBuilder) pathFields(reader fieldReader, names []string) bool {
	ok := true
	for _, field := range reader.fields {
		if field.Place != Path || slices.Contains(names, field.Name) || !e.routeGood {
			continue
		}
		ok = false
		hint := "the pattern has no wildcards"
		if near := Suggest(field.Name, names); near != "" {
			hint = "did you mean " + near + "?"
		} else if len(names) > 0 {
			hint = "the wildcards are " + strings.Join(names, ", ")
		}
		e.report(field.Pos, CodeWildcard, &Other{e.args.Endpoint.Pattern.Pos, "the pattern of " + e.method.Name + " is"},
			"field %s of %s: path:%q has no wildcard in the pattern %q of %s (%s)", field.Selector, typeText(reader.root, reader.pkg), field.Name, e.endpoint.Pattern, e.method.Name, hint)
	}
	return ok
}

// seenHeaders checks that the handler sees no header that the fingerprint does
// not: it could act on a difference between a request and its retry.
func (e *endpointBuilder) seenHeaders(reader fieldReader) {
	if broken("fingerprint.Headers", e.of, e.args) {
		return
	}
	for _, field := range reader.fields {
		if field.Place != Header || slices.Contains(e.endpoint.Policy.Fingerprint.Headers, strings.ToLower(field.Name)) {
			continue
		}
		why := fmt.Sprintf("header %s is not in the fingerprint of %s, so a retry that differs in it would get the old answer: add it to //idem:fingerprint", field.Name, e.method.Name)
		if strings.EqualFold(field.Name, e.endpoint.Policy.KeyHeader) {
			why = fmt.Sprintf("header %s carries the key, which the context holds: use runtime.Key(ctx), or runtime.DerivedKey(ctx, step) for calls to others", field.Name)
		} else if rule := cannotJoin(e.endpoint.Policy, field.Name); rule != "" {
			why = rule + "; and a handler sees no header outside it: leave the field out"
			if field.Name == "Authorization" || field.Name == "Cookie" {
				why += ", runtime.Principal(ctx) is the caller"
			}
		}
		e.report(field.Pos, CodeUnseen, e.whereFingerprint(), "field %s of %s: %s", field.Selector, typeText(reader.root, reader.pkg), why)
	}
}

// whereFingerprint is the place of the list that a header is missing from.
func (e *endpointBuilder) whereFingerprint() *Other {
	if origin := e.resolution.origins["Fingerprint"]; origin.pos.IsValid() && origin.level != byProfile {
		return &Other{origin.pos, "the headers are listed"}
	}
	return &Other{e.args.at["endpoint"], "the endpoint is"}
}

// output reads the result.
func (e *endpointBuilder) output() {
	out := e.signature.out
	if e.signature.shape != Typed || out == nil {
		return
	}
	root, pointer := dereference(out)
	reader := fieldReader{pkg: e.draft.Package.Types, locate: e.draft.Locate, declared: e.draft.Declared, method: e.method.Name, root: root, pos: e.signature.outPos, output: true, elsewhere: e.isRequest}
	reader.read()
	e.problems = append(e.problems, reader.problems...)
	e.endpoint.Out = &Output{Type: root, Pointer: pointer, Headers: reader.fields}
	if way, part := unwritable(root); part != nil {
		e.report(e.signature.outPos, CodeJSON, nil, "%s: encoding/json cannot write %s of the result %s, it is %s: tag it json:\"-\"", e.method.Name, way, typeText(root, reader.pkg), typeText(part, reader.pkg))
	} else {
		e.written(reader)
	}
	if method := httpStatus(out); method != "" {
		e.statusMethod(out, method)
	}
	if broken("response.Replay", e.of, e.args) {
		return
	}
	for _, field := range reader.fields {
		if field.Name == "Content-Type" || field.Name == "Content-Encoding" || slices.Contains(e.endpoint.Policy.Replay, field.Name) {
			continue
		}
		e.report(field.Pos, CodeNotReplayed, &Other{e.args.at["endpoint"], "the endpoint is"}, "field %s of %s: %s",
			field.Selector, typeText(root, reader.pkg), e.notReplayed(field.Name))
	}
}

// written checks that JSON says something of a result.
func (e *endpointBuilder) written(reader fieldReader) {
	text := typeText(reader.root, reader.pkg)
	found := unsaid(reader.root)
	if s, _ := structOf(reader.root); found == nil && len(reader.fields) == 0 && !writesItself(reader.root) && opaque(s) {
		e.report(e.signature.outPos, CodeJSON, nil, "%s: JSON writes nothing of the result %s: it has only fields that are not exported, and no method that writes JSON", e.method.Name, text)
		return
	}
	if found == nil {
		return
	}
	pos := e.draft.Locate(found.field)
	if !pos.IsValid() {
		pos = e.signature.outPos
	}
	e.report(pos, CodeJSON, nil, "%s: JSON writes nothing of %s of the result %s: it %s (json:\"-\" leaves it out)", e.method.Name, found.way, text, found.why)
}

// isRequest and isResult report whether a type is one of the interface's.
func (e *endpointBuilder) isRequest(t types.Type) bool {
	return e.mentioned(t, (*types.Signature).Params)
}
func (e *endpointBuilder) isResult(t types.Type) bool {
	return e.mentioned(t, (*types.Signature).Results)
}

func (e *endpointBuilder) mentioned(t types.Type, list func(*types.Signature) *types.Tuple) bool {
	for _, method := range e.in.Methods {
		if method.Signature == nil {
			continue
		}
		for v := range list(method.Signature).Variables() {
			if elem, _ := dereference(v.Type()); types.Identical(elem, t) {
				return true
			}
		}
	}
	return false
}

// notReplayed says what to do about a header that is not in the replay list.
func (e *endpointBuilder) notReplayed(name string) string {
	p := e.endpoint.Policy
	p.Replay = []string{name}
	if rule := brokenRule(p, "Replay"); rule != "" {
		return rule + "; leave the field out"
	}
	return fmt.Sprintf("header %s is not in the replay list of %s, so a replay would lose it: add it to //idem:response replay=", name, e.method.Name)
}

// cannotJoin says why a header may not be listed in //idem:fingerprint, or "".
func cannotJoin(p runtime.Policy, name string) string {
	p.Fingerprint.Headers = []string{strings.ToLower(name)}
	return brokenRule(p, "Fingerprint")
}

// brokenRule is the first rule about a field that a policy breaks, or "".
func brokenRule(p runtime.Policy, field string) string {
	for _, problem := range p.Problems() {
		if problem.Field == field {
			return problem.Message
		}
	}
	return ""
}
