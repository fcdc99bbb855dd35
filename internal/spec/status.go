package spec

import (
	"go/types"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// status checks the statuses of a success against the shape.
func (e *endpointBuilder) status() {
	e.endpoint.Status = http.StatusOK
	if e.signature.shape == Typed && e.signature.out == nil {
		e.endpoint.Status = http.StatusNoContent
	}
	given := e.args.Endpoint.Status
	if !given.given() || e.args.isBroken("endpoint.Status") {
		return
	}
	says := e.signature.shape == Typed && e.signature.out != nil && httpStatus(e.signature.out) == "HTTPStatus"
	var statuses []int
	for i, item := range given.V {
		if i == 0 {
			item.Pos = given.Pos // of the whole argument
		}
		status, err := strconv.Atoi(item.Text)
		reason, code := "", CodeStatus
		switch {
		case err != nil:
			e.report(item.Pos, CodeValue, nil, "idem:endpoint: status=%q is not a whole number", item.Text)
			continue
		case slices.Contains(statuses, status):
			reason, code = "it is listed twice", CodeRepeated
		case e.signature.shape == Standard:
			reason = "a standard handler writes its own status: leave it out"
		case status < 200 || status > 399 || status == http.StatusNotModified:
			reason = "a success is 200 to 399, and not 304"
		case e.signature.out != nil && !says && (status == http.StatusNoContent || status == http.StatusResetContent):
			reason = "an answer with it has no body, but " + e.method.Name + " has a result"
		case len(statuses) > 0 && e.signature.shape == Raw:
			reason = "it is a second one: a raw handler says another status in runtime.Response"
		case len(statuses) > 0 && !says:
			reason = "it is a second one, and nothing says which: give the result of " + e.method.Name + " a method HTTPStatus() int"
		}
		if reason != "" {
			e.report(item.Pos, code, nil, "idem:endpoint: status=%d cannot be: %s", status, reason)
			continue
		}
		statuses = append(statuses, status)
	}
	if len(statuses) == 0 {
		return
	}
	e.endpoint.Status = statuses[0]
	if says {
		e.endpoint.Statuses = statuses
	}
}

// httpStatus is the name of the method by which a result says its status, or of
// what looks like it; "" where there is none.
func httpStatus(out types.Type) string {
	root, _ := dereference(out)
	for method := range methodsOf(types.NewPointer(root)) {
		if strings.EqualFold(method.Name(), "HTTPStatus") {
			return method.Name()
		}
	}
	return ""
}

// statusMethod checks the method by which a result says its status.
func (e *endpointBuilder) statusMethod(out types.Type, name string) {
	root, _ := dereference(out)
	obj, index, _ := types.LookupFieldOrMethod(types.NewPointer(root), true, e.draft.Package.Types, name)
	method, ok := obj.(*types.Func)
	if !ok {
		return
	}
	pos := e.draft.Locate(method)
	if !pos.IsValid() {
		pos = e.signature.outPos
	}
	text := typeText(root, e.draft.Package.Types)
	switch through := pointerOn(root, index); {
	case name != "HTTPStatus" || signatureText(method.Signature()) != "() (int)":
		e.report(pos, CodeStatus, nil, "%s: %s%s of the result %s would not be called: the method that says its status is HTTPStatus() int",
			e.method.Name, name, localSignature(method.Signature())+resultsText(method.Signature()), text)
	case through != "":
		e.report(pos, CodeStatus, nil, "%s: HTTPStatus of the result %s is that of the embedded *%s, which may be nil: embed the struct by value, or give %s one of its own",
			e.method.Name, text, through, text)
	case !e.args.Endpoint.Status.given():
		e.report(e.args.at["endpoint"], CodeStatus, nil, "idem:endpoint: the result %s of %s says its status by HTTPStatus() int: list those that it may say, such as status=200,201",
			text, e.method.Name)
	}
}

// strict reports whether the body of a request is read strictly.
func (e *endpointBuilder) strict() bool {
	mode := e.of.Request.Mode
	if e.args.Request.Mode.given() {
		mode = e.args.Request.Mode
	}
	return mode.V == "strict" && e.endpoint.In.Body
}

// checkStrict reports strict on a method that reads no JSON.
func (e *endpointBuilder) checkStrict() {
	mode := e.args.Request.Mode
	if mode.V == "strict" && e.signature.usable && (e.endpoint.In == nil || !e.endpoint.In.Body) {
		e.report(mode.Pos, CodePolicy, nil, "idem:request: strict does nothing here: %s reads no JSON body", e.method.Name)
	}
}
