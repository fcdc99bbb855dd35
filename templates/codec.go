package templates

import (
	"go/types"

	"github.com/dave/jennifer/jen"

	"github.com/idemgen/idemgen/internal/spec"
)

// decodes reports whether a request has anything to decode or validate.
func decodes(in *spec.Input) bool {
	return in != nil && (in.Body || in.Validate != spec.NotValidated || len(in.Fields) > 0)
}

// encodes reports whether a result needs more than its JSON body.
func encodes(out *spec.Output) bool { return out != nil && len(out.Headers) > 0 }

// decode writes the function that fills an endpoint's request. The body comes
// first: what stands in path, query and headers overrides what a body claims.
func (f *file) decode(api *spec.API, e *spec.Endpoint, names endpointNames) {
	r, d, in := f.local("r"), f.local("d"), f.local("in")
	address := jen.Op("&").Id(in)
	if e.In.Pointer {
		address = jen.Id(in)
	}
	f.Add(comment("%s reads the request of %s.%s.", names.decode, api.Name, e.Name))
	f.Func().Id(names.decode).
		Params(jen.Id(r).Op("*").Add(f.qual(runtimePackage, "Request"))).
		Params(f.inType(e), jen.Error()).
		BlockFunc(func(g *jen.Group) {
			if e.In.Pointer {
				// A value would have to be copied, and with it a lock that
				// the type may hold.
				g.Id(in).Op(":=").New(f.typeOf(e.In.Type))
			} else {
				g.Var().Id(in).Add(f.typeOf(e.In.Type))
			}
			g.Id(d).Op(":=").Id(r).Dot("Decode").Call()
			if e.In.Body {
				read := "JSON"
				if e.In.Strict {
					read = "JSONStrict"
				}
				g.Id(d).Dot(read).Call(address)
			}
			for _, field := range e.In.Fields {
				reader := f.qual(runtimePackage, places[field.Place]+readForms[field.Form])
				parser := f.qual(runtimePackage, "Parse"+kinds[field.Kind]).Types(f.typeOf(field.Elem))
				g.Id(in).Dot(field.Selector).Op("=").Add(reader).Call(jen.Id(d), jen.Lit(field.Name), parser)
			}
			switch e.In.Validate {
			case spec.Validated:
				g.Id(d).Dot("Validate").Call(address)
			case spec.ValidatedInTime:
				g.Id(d).Dot("ValidateContext").Call(address)
			}
			g.Return(jen.Id(in), jen.Id(d).Dot("Err").Call())
		})
	f.Line()
}

// encode writes the function that makes a response of an endpoint's result.
func (f *file) encode(api *spec.API, e *spec.Endpoint, names endpointNames) {
	r, out, err := f.local("r"), f.local("out"), f.local("err")
	f.Add(comment("%s writes the result of %s.%s.", names.encode, api.Name, e.Name))
	f.Func().Id(names.encode).
		Params(jen.Id(out).Add(f.outType(e))).
		Params(jen.Op("*").Add(f.qual(runtimePackage, "Response")), jen.Error()).
		BlockFunc(func(g *jen.Group) {
			g.List(jen.Id(r), jen.Id(err)).Op(":=").Add(f.encodeJSON(e))
			nothing := jen.Id(err).Op("!=").Nil()
			if e.Out.Pointer {
				nothing.Op("||").Id(out).Op("==").Nil()
			}
			g.If(nothing).Block(jen.Return(jen.Id(r), jen.Id(err)))
			for _, field := range e.Out.Headers {
				g.Add(f.qual(runtimePackage, "SetHeader"+writeForms[field.Form])).Call(
					jen.Id(r), jen.Lit(field.Name), jen.Id(out).Dot(field.Selector), f.qual(runtimePackage, "Format"+kinds[field.Kind]))
			}
			g.Return(jen.Id(r), jen.Id(r).Dot("Err").Call())
		})
	f.Line()
}

// inType is the type of the method's request parameter.
func (f *file) inType(e *spec.Endpoint) jen.Code { return f.parameter(e.In.Type, e.In.Pointer) }

// outType is the type of the method's result.
func (f *file) outType(e *spec.Endpoint) jen.Code { return f.parameter(e.Out.Type, e.Out.Pointer) }

func (f *file) parameter(t types.Type, pointer bool) jen.Code {
	if pointer {
		return jen.Op("*").Add(f.typeOf(t))
	}
	return f.typeOf(t)
}

// encodeJSON is the call that makes a response of a result. Of a result that is
// a value it takes the address, so that MarshalJSON methods count which have a
// pointer receiver.
func (f *file) encodeJSON(e *spec.Endpoint) jen.Code {
	out := jen.Id(f.local("out"))
	if !e.Out.Pointer {
		out = jen.Op("&").Add(out)
	}
	if e.Statuses != nil {
		arguments := []jen.Code{out}
		for _, status := range e.Statuses {
			arguments = append(arguments, f.status(status))
		}
		return f.qual(runtimePackage, "JSONStatus").Call(arguments...)
	}
	return f.qual(runtimePackage, "JSON").Call(f.status(e.Status), out)
}

// The names of package runtime's functions are made of these parts.
var (
	places     = map[spec.Place]string{spec.Path: "Path", spec.Query: "Query", spec.Header: "Header"}
	readForms  = map[spec.Form]string{spec.Single: "Value", spec.Pointer: "Pointer", spec.List: "List"}
	writeForms = map[spec.Form]string{spec.Single: "", spec.Pointer: "Pointer", spec.List: "List"}
	kinds      = map[spec.Kind]string{spec.String: "String", spec.Bool: "Bool", spec.Int: "Int", spec.Uint: "Uint", spec.Float: "Float", spec.Duration: "Duration", spec.Text: "Text"}
)
