package spec

import (
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
)

// Build checks the drafts of all packages of a run against every rule, and
// returns their packages with the APIs in them. With problems the packages are
// incomplete and only good for looking at.
func Build(drafts []*Draft) ([]*Package, Problems) {
	b := &builder{}
	var packages []*Package
	for _, draft := range drafts {
		b.draft = draft
		b.constraint()
		for i := range draft.Interfaces {
			b.api(&draft.Interfaces[i])
		}
		packages = append(packages, draft.Package)
	}
	b.problems = append(b.problems, sharedLedgers(b.ledgers)...)
	b.sameOperations()
	return packages, b.problems
}

// builder collects what holds across the interfaces of a run.
type builder struct {
	draft      *Draft
	problems   Problems
	ledgers    []ledgerUse
	operations []operation
}

// operation is an operation name in use.
type operation struct {
	name   string
	owner  string // Orders.Create
	pos    token.Position
	dir    string // of the package
	folder string // of the ledger; "" without one
}

func (b *builder) report(pos token.Position, code Code, other *Other, format string, args ...any) {
	b.problems = append(b.problems, Problem{Pos: pos, Code: code, Message: fmt.Sprintf(format, args...), Other: other})
}

// constraint keeps the one build constraint of the package's interfaces: there
// is one output file, and it stands under one constraint.
func (b *builder) constraint() {
	for i, in := range b.draft.Interfaces {
		first := b.draft.Interfaces[0]
		if i == 0 {
			b.draft.Package.BuildConstraint = in.Constraint
		} else if in.Constraint != first.Constraint {
			b.report(in.Pos, CodeConstraint, &Other{first.Pos, first.Name + " is"},
				"%s stands under %s, but %s under %s: the annotated interfaces of a package share one build constraint",
				in.Name, constraintText(in.Constraint), first.Name, constraintText(first.Constraint))
		}
	}
}

func constraintText(constraint string) string {
	if constraint == "" {
		return "no build constraint"
	}
	return fmt.Sprintf("the build constraint %q", constraint)
}

// api builds one interface.
func (b *builder) api(in *DraftInterface) {
	of, problems := parseArguments(in.Directives, onInterface)
	b.problems = append(b.problems, problems...)
	if !b.isAPI(in, of) {
		return
	}
	api := &API{Name: in.Name, Pos: in.Pos, Profile: "default"}
	if profile := of.API.Profile; profile.given() && !of.isBroken("api.Profile") {
		api.Profile = profile.V
	}
	if in.Name == "_" {
		b.report(in.Pos, CodeUnnamable, nil, "the blank interface has no name that generated code could use: name it")
		return
	}
	prefixGood := !of.isBroken("api.Prefix")
	if prefix := of.API.Prefix; prefix.given() && prefixGood {
		api.Prefix = prefix.V
		if reason := checkPrefix(prefix.V); reason != "" {
			b.report(prefix.Pos, CodePattern, nil, "idem:api: %s", reason)
			prefixGood = false
		}
	}
	if in.TypeParams.IsValid() {
		b.report(in.TypeParams, CodeGeneric, nil, "%s has type parameters: an annotated interface is not generic; requests and results may be, such as Page[Order]", in.Name)
	}
	skip := of.API.Others.V == "skip"
	for _, embedded := range in.Embedded {
		if skip {
			api.Skipped = append(api.Skipped, embedded.Text)
			continue
		}
		b.report(embedded.Pos, CodeEmbedded, nil, "%s embeds %s, whose methods have no //idem:endpoint here: declare them in %s itself", in.Name, embedded.Text, in.Name)
	}
	if len(in.Methods) == 0 && len(in.Embedded) == 0 {
		b.report(of.at["api"], CodeNoEndpoints, nil, "%s has no methods, so there is no endpoint to make", in.Name)
	}
	var ledgerProblems Problems
	api.Ledger, ledgerProblems = resolveLedger(b.draft, of)
	b.problems = append(b.problems, ledgerProblems...)
	folder := ""
	if api.Ledger != nil {
		folder = filepath.Join(b.draft.Package.Dir, filepath.FromSlash(api.Ledger.Dir))
		b.ledgers = append(b.ledgers, ledgerUse{folder, in.Name, api.Ledger})
	}
	var routes []route
	before := len(b.problems)
	for i := range in.Methods {
		e := endpointBuilder{builder: b, in: in, of: of, api: api, method: &in.Methods[i], prefixGood: prefixGood}
		if endpoint := e.build(); endpoint != nil {
			api.Endpoints = append(api.Endpoints, endpoint)
		}
		if e.routeGood {
			routes = append(routes, route{in.Methods[i].Name, e.endpoint.Method + " " + e.endpoint.Pattern, e.args.Endpoint.Pattern.Pos})
			b.operations = append(b.operations, operation{
				e.endpoint.Policy.Operation, in.Name + "." + in.Methods[i].Name, e.operationPos, b.draft.Package.Dir, folder,
			})
		}
	}
	if len(api.Skipped) > 0 && len(api.Skipped) == len(in.Methods)+len(in.Embedded) {
		b.report(of.API.Others.Pos, CodeNoEndpoints, nil, "%s has no method with //%s:endpoint, so that others=skip passes over all of it", in.Name, Tool)
	}
	strict := func(e *Endpoint) bool { return e.In != nil && e.In.Strict }
	if mode := of.Request.Mode; mode.V == "strict" && len(b.problems) == before && !slices.ContainsFunc(api.Endpoints, strict) {
		b.report(mode.Pos, CodePolicy, nil, "idem:request: strict does nothing here: no method of %s reads a JSON body", in.Name)
	}
	b.problems = append(b.problems, conflicts(routes)...)
	b.draft.Package.APIs = append(b.draft.Package.APIs, api)
}

// isAPI reports whether an interface is marked; without the mark its
// directives do nothing, and that is one problem.
func (b *builder) isAPI(in *DraftInterface, of *arguments) bool {
	if _, marked := of.at["api"]; marked {
		return true
	}
	directives := slices.Clone(in.Directives)
	for _, method := range in.Methods {
		directives = append(directives, method.Directives...)
		_, problems := parseArguments(method.Directives, onMethod)
		b.problems = append(b.problems, problems...)
	}
	known := func(d Directive) bool { return slices.Contains(Names(), d.Name) }
	// A broken comment is most likely the mark, and has been reported.
	if first := slices.IndexFunc(directives, known); first >= 0 && !in.Spoilt {
		d := directives[first]
		b.report(d.Pos, CodeNoAPI, nil, "//%s:%s does nothing: interface %s has no //%s:api", Tool, d.Name, in.Name, Tool)
	}
	return false
}

// sameOperations reports operation names that two endpoints on one ledger
// share. Interfaces of one package share a ledger unless both name one and
// they differ: a server takes any ledger where none is named. Across packages
// only a common folder says that a ledger is shared.
func (b *builder) sameOperations() {
	reported := map[token.Position]bool{}
	for _, problem := range b.problems {
		reported[problem.Pos] = problem.Code == CodeConflict
	}
	for i, later := range b.operations {
		if reported[later.pos] {
			continue
		}
		for _, earlier := range b.operations[:i] {
			sameLedger := later.folder != "" && later.folder == earlier.folder
			if later.dir == earlier.dir && (later.folder == "" || earlier.folder == "") {
				sameLedger = true
			}
			if !sameLedger || later.name != earlier.name {
				continue
			}
			b.report(later.pos, CodeSameOperation, &Other{earlier.pos, "that of " + earlier.owner + " is"},
				"idem:endpoint: %s and %s have the same operation name %q: give one of them another with name=", earlier.owner, later.owner, later.name)
			break
		}
	}
}
