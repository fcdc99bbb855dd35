package spec

import (
	"fmt"
	"go/token"
	"go/types"
)

// shapes lists the signatures that a method may have, for messages.
const shapes = `the shapes are
	(ctx context.Context, in In) (Out, error), without in or without Out
	(ctx context.Context, tx *sql.Tx, in In) (Out, error), without in or without Out; tx may be pgx.Tx, or *Queries of sqlc's
	(ctx context.Context, r *runtime.Request) (*runtime.Response, error)
	(w http.ResponseWriter, r *http.Request)`

// signature is what a method's signature says.
type signature struct {
	shape  Shape
	tx     *Transaction
	txPos  token.Position
	in     types.Type
	inPos  token.Position
	out    types.Type
	outPos token.Position
	usable bool // no rule is broken that the rest depends on
}

// signatureReader reads the signature of one method.
type signatureReader struct {
	pkg      *types.Package
	method   *DraftMethod
	problems Problems
}

func (r *signatureReader) report(pos token.Position, code Code, format string, args ...any) {
	r.problems = append(r.problems, Problem{Pos: pos, Code: code, Message: r.method.Name + ": " + fmt.Sprintf(format, args...)})
}

// text is a type as a message shows it.
func (r *signatureReader) text(t types.Type) string { return typeText(t, r.pkg) }

// read finds the shape of the method's signature. The reader's problems say why
// it has none.
func (r *signatureReader) read() signature {
	sig := r.method.Signature
	if sig == nil || !r.resolved(sig) {
		return signature{}
	}
	params, results := sig.Params(), sig.Results()
	switch {
	case sig.Variadic():
		r.report(r.method.Params[params.Len()-1].Pos, CodeSignature, "a variadic parameter cannot be filled from a request; %s", shapes)
	case params.Len() == 2 && isNamed(params.At(0).Type(), "net/http", "ResponseWriter") && isPointerTo(params.At(1).Type(), "net/http", "Request"):
		if results.Len() > 0 {
			r.report(r.method.Results[0].Pos, CodeSignature, "a standard handler returns nothing; %s", shapes)
			break
		}
		return signature{shape: Standard, usable: true}
	case params.Len() == 0 || !isNamed(params.At(0).Type(), "context", "Context"):
		pos := r.method.Pos
		if params.Len() > 0 {
			pos = r.method.Params[0].Pos
		}
		r.report(pos, CodeSignature, "the first parameter is not context.Context; %s", shapes)
	case results.Len() == 0 || !isError(results.At(results.Len()-1).Type()):
		pos := r.method.Pos
		if n := results.Len(); n > 0 {
			pos = r.method.Results[n-1].Pos
		}
		r.report(pos, CodeSignature, "the last result is not error; %s", shapes)
	case results.Len() > 2:
		r.report(r.method.Results[1].Pos, CodeSignature, "there are %d results, at most one may stand before the error; %s", results.Len(), shapes)
	case r.mentionsRaw(sig):
		return r.raw(sig)
	default:
		return r.typed(sig)
	}
	return signature{}
}

// resolved reports the types that did not resolve.
func (r *signatureReader) resolved(sig *types.Signature) bool {
	ok := true
	check := func(t types.Type, source DraftType, what string) {
		if !isInvalid(t) {
			return
		}
		ok = false
		reason := "its declaration has errors, run go vet"
		if source.Import != "" {
			reason = fmt.Sprintf("package %q does not load, run go vet", source.Import)
		}
		r.report(source.Pos, CodeUnresolved, "the type %s of a %s does not resolve: %s", source.Text, what, reason)
	}
	for i := range sig.Params().Len() {
		check(sig.Params().At(i).Type(), r.method.Params[i], "parameter")
	}
	for i := range sig.Results().Len() {
		check(sig.Results().At(i).Type(), r.method.Results[i], "result")
	}
	return ok
}

// mentionsRaw reports whether the raw shape was meant.
func (r *signatureReader) mentionsRaw(sig *types.Signature) bool {
	for v := range sig.Params().Variables() {
		if elem, _ := dereference(v.Type()); isNamed(elem, runtimePath, "Request") {
			return true
		}
	}
	for v := range sig.Results().Variables() {
		if elem, _ := dereference(v.Type()); isNamed(elem, runtimePath, "Response") {
			return true
		}
	}
	return false
}

func (r *signatureReader) raw(sig *types.Signature) signature {
	params, results := sig.Params(), sig.Results()
	if params.Len() == 2 && results.Len() == 2 &&
		isPointerTo(params.At(1).Type(), runtimePath, "Request") &&
		isPointerTo(results.At(0).Type(), runtimePath, "Response") {
		return signature{shape: Raw, usable: true}
	}
	r.report(r.method.Pos, CodeSignature, "runtime.Request and runtime.Response belong to the raw shape; %s", shapes)
	return signature{}
}

// typed reads (ctx[, tx][, In]) ([Out,] error).
func (r *signatureReader) typed(sig *types.Signature) signature {
	found := signature{shape: Typed, usable: true}
	rest := r.method.Params[1:]
	next := func() types.Type { return sig.Params().At(sig.Params().Len() - len(rest)).Type() }
	switch {
	case len(rest) > 2:
		r.report(rest[2].Pos, CodeSignature, "there are too many parameters; %s", shapes)
		return signature{}
	case len(rest) > 0:
		if found.tx = r.transaction(next(), len(rest) == 2, rest[0].Pos); found.tx != nil {
			found.txPos = rest[0].Pos
			rest = rest[1:]
		}
	}
	if len(r.problems) > 0 {
		return signature{}
	}
	if len(rest) == 1 {
		found.in, found.inPos = next(), rest[0].Pos
		if reason := r.structReason(found.in); reason != "" {
			r.report(found.inPos, CodeInput, "the request parameter %s %s", r.text(found.in), reason)
			found.usable, found.in = false, nil
		}
	}
	if sig.Results().Len() == 2 {
		found.out, found.outPos = sig.Results().At(0).Type(), r.method.Results[0].Pos
		if reason := r.structReason(found.out); reason != "" {
			r.report(found.outPos, CodeOutput, "the result %s %s", r.text(found.out), reason)
			found.usable, found.out = false, nil
		}
	}
	return found
}

// transaction reads a parameter after ctx. It must be a transaction when
// another parameter follows; one that the ledger cannot give is a problem.
func (r *signatureReader) transaction(t types.Type, must bool, pos token.Position) *Transaction {
	tx, reason := transactionOf(t, r.text(t))
	switch {
	case reason != "":
		r.report(pos, CodeTransaction, "%s", reason)
	case tx == nil && must:
		r.report(pos, CodeTransaction, "%s is not a transaction that the ledger can give: the parameter between ctx and the request is *sql.Tx, pgx.Tx, or *Queries of sqlc's", r.text(t))
	}
	return tx
}

// structReason says why a type cannot be a request or a result, or "".
func (r *signatureReader) structReason(t types.Type) string {
	elem, _ := dereference(t)
	switch {
	case handleOf(t) != "" && !isNamed(elem, "net/http", "Request") && !isNamed(elem, "net/http", "Response"):
		return "is " + handleOf(t) + ", which stands in no request and no answer; " + shapes
	case isNamed(elem, "net/http", "Request"), isNamed(elem, "net/http", "Response"):
		return "belongs to the standard shape; " + shapes
	case isError(t):
		return "is a second error; " + shapes
	}
	if _, ok := structOf(elem); ok {
		return ""
	}
	if _, again := dereference(elem); again {
		return "is a pointer to a pointer: use a struct or a pointer to one"
	}
	return "is neither a struct nor a pointer to one: put it into a field of a struct, so that the JSON can grow"
}
