package spec

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"
)

// Validation says how a request is validated.
type Validation int

const (
	NotValidated    Validation = iota
	Validated                  // by Validate() error
	ValidatedInTime            // by Validate(context.Context) error
)

// validation finds the Validate method of a request, or says why what looks
// like one would not be called, with the place of it.
func (e *endpointBuilder) validation(root types.Type) Validation {
	address := types.NewPointer(root)
	obj, index, _ := types.LookupFieldOrMethod(address, true, e.draft.Package.Types, "Validate")
	report := func(obj types.Object, format string, args ...any) {
		pos := token.Position{}
		if obj != nil {
			pos = e.draft.Locate(obj)
		}
		if !pos.IsValid() {
			pos = e.signature.inPos
		}
		e.report(pos, CodeValidate, nil, "%s: %s", e.method.Name, fmt.Sprintf(format, args...))
	}
	text := typeText(root, e.draft.Package.Types)
	const rule = "the method that is called is Validate() error, or Validate(ctx context.Context) error"
	if method, ok := obj.(*types.Func); ok {
		found := NotValidated
		switch signatureText(method.Signature()) {
		case "() (error)":
			found = Validated
		case "(context.Context) (error)":
			found = ValidatedInTime
		default:
			report(method, "Validate%s of the request %s would not be called: %s", localSignature(method.Signature())+resultsText(method.Signature()), text, rule)
			return NotValidated
		}
		if through := pointerOn(root, index); through != "" {
			report(method, "Validate of the request %s is that of the embedded *%s, which may be nil: embed the struct by value, or give %s a Validate of its own", text, through, text)
			return NotValidated
		}
		return found
	}
	if obj == nil && index != nil {
		report(nil, "%s embeds several types with Validate, so that it has none itself, and none would be called: give it one of its own", text)
		return NotValidated
	}
	if obj != nil {
		return NotValidated // a field, which the body's rules look at
	}
	for method := range methodsOf(address) {
		name, signature := method.Name(), signatureText(method.Signature())
		fits := signature == "() (error)" || signature == "(context.Context) (error)"
		switch {
		case strings.EqualFold(name, "validate"), fits && distance(strings.ToLower(name), "validate") <= 1:
			report(method, "%s%s of the request %s would not be called: %s", name, localSignature(method.Signature())+resultsText(method.Signature()), text, rule)
			return NotValidated
		}
	}
	return NotValidated
}

// pointerOn names the first embedded pointer on the way to a method.
func pointerOn(root types.Type, index []int) string {
	t := root
	for _, i := range index[:len(index)-1] {
		elem, _ := dereference(t)
		s, ok := structOf(elem)
		if !ok {
			return ""
		}
		field := s.Field(i)
		if _, pointer := dereference(field.Type()); pointer {
			return field.Name()
		}
		t = field.Type()
	}
	return ""
}

// methodsOf yields the methods of a type.
func methodsOf(t types.Type) func(yield func(*types.Func) bool) {
	return func(yield func(*types.Func) bool) {
		for selection := range types.NewMethodSet(t).Methods() {
			if method, ok := selection.Obj().(*types.Func); ok && !yield(method) {
				return
			}
		}
	}
}
