package spec

import (
	"go/token"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/runtime"
)

// endpointBuilder builds one endpoint.
type endpointBuilder struct {
	*builder
	in         *DraftInterface
	of         *arguments // of the interface
	api        *API
	method     *DraftMethod
	args       *arguments // of the method
	prefixGood bool

	endpoint     *Endpoint
	signature    signature
	resolution   *resolution
	routeGood    bool // method, pattern and name hold
	operationPos token.Position
}

// build returns the endpoint, or nil when the method is none.
func (e *endpointBuilder) build() *Endpoint {
	args, problems := parseArguments(e.method.Directives, onMethod)
	e.args = args
	e.problems = append(e.problems, problems...)
	_, annotated := args.at["endpoint"]
	switch {
	case !annotated && e.skipped():
		e.api.Skipped = append(e.api.Skipped, e.method.Name)
	case !token.IsExported(e.method.Name):
		e.report(e.method.Pos, CodeUnexported, nil, "method %s is not exported: its handler is an exported field of the server", e.method.Name)
	case !annotated:
		e.unannotated()
	}
	if !annotated {
		return nil
	}
	reader := signatureReader{pkg: e.draft.Package.Types, method: e.method}
	e.signature = reader.read()
	e.problems = append(e.problems, reader.problems...)
	e.endpoint = &Endpoint{Name: e.method.Name, Doc: e.method.Doc, Pos: e.method.Pos, Shape: e.signature.shape, Tx: e.signature.tx}
	e.resolution = resolvePolicy(e.of, args, e.signature.tx != nil)
	e.transaction()
	e.route()
	e.policy()
	e.commit()
	if e.signature.usable {
		e.status()
		e.input()
		e.output()
	}
	e.checkStrict()
	return e.endpoint
}

// skipped reports whether a method without endpoint is passed over. One with
// other directives was meant to be one.
func (e *endpointBuilder) skipped() bool {
	return e.of.API.Others.V == "skip" && len(e.method.Directives) == 0 && !e.method.Spoilt
}

// unannotated reports a method without endpoint.
func (e *endpointBuilder) unannotated() {
	if e.method.Spoilt {
		return
	}
	for _, d := range e.method.Directives {
		if slices.Contains(Names(), d.Name) {
			e.report(d.Pos, CodeUnannotated, nil, "method %s has //%s:%s, but no //%s:endpoint", e.method.Name, Tool, d.Name, Tool)
			return
		}
	}
	if len(e.method.Directives) > 0 {
		return // an unknown directive, most likely the missing one
	}
	e.report(e.method.Pos, CodeUnannotated, nil, "method %s of %s has no //%s:endpoint: every method of an annotated interface has one, unless //%s:api others=skip passes over those without", e.method.Name, e.in.Name, Tool, Tool)
}

// route checks method and pattern, and names the operation.
func (e *endpointBuilder) route() {
	method, pattern := e.args.Endpoint.Method, e.args.Endpoint.Pattern
	if !method.given() || !pattern.given() {
		return
	}
	e.endpoint.Method = method.V
	e.endpoint.Pattern = e.api.Prefix + pattern.V
	good := e.prefixGood && !e.args.isBroken("endpoint.Name")
	if reason := checkMethod(method.V); reason != "" {
		e.report(method.Pos, CodeMethod, nil, "idem:endpoint: %s", reason)
		good = false
		if strings.Contains(method.V, "/") {
			return // the words are in another order; one problem says so
		}
	}
	if !strings.HasPrefix(pattern.V, "/") {
		reason := "does not begin with /"
		code := CodePattern
		if strings.Contains(pattern.V, "/") {
			reason, code = "names a host: it begins with /", CodeHost
		}
		e.report(pattern.Pos, code, nil, "idem:endpoint: pattern %q %s", pattern.V, reason)
		good = false
	} else if reason := foreignWildcard(pattern.V); reason != "" {
		e.report(pattern.Pos, CodePattern, nil, "idem:endpoint: pattern %q %s", pattern.V, reason)
		good = false
	} else if reason := tryPattern("POST " + e.endpoint.Pattern); e.prefixGood && reason != "" {
		// With a method that is always good: the user's own has its own check.
		e.report(pattern.Pos, CodePattern, nil, "idem:endpoint: pattern %q is not one that http.ServeMux takes: %s", e.endpoint.Pattern, reason)
		good = false
	}
	e.routeGood = good
	e.operationPos = pattern.Pos
	e.resolution.policy.Operation = OperationName(method.V, e.endpoint.Pattern)
	if name := e.args.Endpoint.Name; name.given() {
		e.resolution.policy.Operation, e.operationPos = name.V, name.Pos
	}
	e.resolution.origins["Operation"] = origin{level: byMethod, pos: e.operationPos}
}

// policy checks the policy, alone and with the method's shape, and keeps it.
func (e *endpointBuilder) policy() {
	if !e.routeGood && e.resolution.policy.Operation == "" {
		// A name that is no problem of its own, so that the other rules are
		// still checked.
		e.resolution.policy.Operation = "POST /"
	}
	e.problems = append(e.problems, e.resolution.problems(e.of, e.args)...)
	e.endpoint.Policy = e.resolution.policy
	e.endpoint.origins = e.resolution.exported(e.of, e.args)
	if e.endpoint.Policy.KeyOptional && e.signature.usable && e.signature.tx != nil {
		pos := e.resolution.origins["KeyOptional"].pos
		e.report(pos, CodeTransaction, nil, "idem:key: optional does not go with the transaction of %s: without a key there is no claim to commit; give that method //idem:key required", e.method.Name)
	}
	if len(e.endpoint.Policy.Encodings) > 0 && e.signature.usable && e.signature.shape == Typed {
		pos := e.resolution.origins["Encodings"].pos
		e.report(pos, CodePolicy, nil, "idem:request: encoding= does not go with %s, which decodes its body as it comes: give that method //idem:request encoding=none", e.method.Name)
	}
	if e.endpoint.Policy.Renew {
		pos := e.resolution.origins["Renew"].pos
		if e.signature.usable && e.signature.tx != nil {
			e.report(pos, CodeTransaction, nil, "idem:lease: renew=on does not go with the transaction of %s, which holds the row: give that method //idem:lease renew=off", e.method.Name)
		} else if !e.resolution.timeoutGiven {
			e.report(pos, CodePolicy, nil, "idem:lease: renew=on needs a timeout: the handler's deadline no longer follows from the lease")
		}
	}
	if e.api.Ledger == nil {
		return
	}
	for _, engine := range e.api.Ledger.Engines {
		limit := responseLimits[engine]
		if max := e.endpoint.Policy.ResponseMax; max > limit && max <= runtime.MaxResponse {
			pos := e.resolution.origins["ResponseMax"].pos
			e.report(pos, CodePolicy, nil, "idem:response: a max of %d bytes is out of range: a row of %s holds at most %dMiB", max, engine, limit>>20)
		}
	}
}

// transaction checks that the ledger gives the method's transaction: the one
// that the interface names, or otherwise one ledger for all methods.
func (e *endpointBuilder) transaction() {
	tx := e.signature.tx
	if tx == nil {
		return
	}
	what := string(tx.Kind)
	if tx.Queries {
		what += ", of which *Queries is made"
	}
	if ledger := e.api.Ledger; ledger != nil {
		if kind := txKindOf(ledger.Driver); tx.Kind != kind {
			hint := "use driver=pgx with engine=postgres, or another parameter"
			if tx.Kind == SQLTx {
				hint = "use driver=sql, or another parameter"
			}
			e.report(e.signature.txPos, CodeTransaction, &Other{ledger.Pos, "the ledger is"},
				"%s: the ledger of %s gives %s with driver=%s, not %s: %s", e.method.Name, e.api.Name, kind, ledger.Driver, what, hint)
			e.signature.usable = false
		}
		return
	}
	for _, earlier := range e.api.Endpoints {
		if earlier.Tx == nil {
			continue
		}
		if earlier.Tx.Kind != tx.Kind {
			e.report(e.signature.txPos, CodeTransaction, &Other{earlier.Pos, earlier.Name + " is"},
				"%s: one ledger cannot give %s here and %s to %s: give both methods the same kind", e.method.Name, what, earlier.Tx.Kind, earlier.Name)
			e.signature.usable = false
		}
		return
	}
}

// commit checks that a commit mode has a transaction to commit.
func (e *endpointBuilder) commit() {
	pos, given := e.args.at["commit"]
	if given && e.signature.usable && e.signature.tx == nil {
		e.report(pos, CodeTransaction, nil, "idem:commit: %s has no transaction parameter: add one, tx *sql.Tx after ctx, or leave the directive out", e.method.Name)
	}
	if mode := e.args.Commit.Mode; mode.V == "once" && e.api.Ledger != nil && slices.Contains(e.api.Ledger.Engines, "mysql") {
		e.report(mode.Pos, CodeTransaction, nil, "idem:commit: once cannot be had on mysql, where no lock on a key goes with a transaction: use twice, or leave mysql out of idem:ledger")
	}
}
