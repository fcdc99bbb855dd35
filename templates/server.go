package templates

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/idemgen/idemgen/internal/spec"
)

// ledgers names the ledger folders, and where the rows of each interface are,
// for the generator's next run.
func (f *file) ledgers(p *spec.Package, folders []string) {
	lines := []string{
		"// The folders of the ledgers that are generated for this package. idemgen",
		"// removes those that are no longer asked for, and takes another place of the",
		"// rows with -accept only.",
		"//",
	}
	for _, folder := range folders {
		lines = append(lines, LedgerPrefix+folder)
	}
	for _, api := range p.APIs {
		if l := api.Ledger; l != nil {
			lines = append(lines, RowsPrefix+api.Name+" "+strings.Join(l.Engines, ",")+" "+l.Table)
		}
	}
	f.Comment(strings.Join(lines, "\n"))
	f.Line()
}

// handshake makes a runtime that is too old a compile error that says so.
func (f *file) handshake() {
	f.Add(comment(`This line does not compile when the runtime in go.mod is older than the generator that wrote this file. Update it with
	go get github.com/idemgen/idemgen@latest
or generate again with the older generator.`))
	f.Const().Id("_").Op("=").Add(f.qual(runtimePackage, "IsAtLeastVersion0_1_0"))
	f.Line()
}

// server writes everything of one interface.
func (f *file) server(api *spec.API, names apiNames) {
	f.serverType(api, names)
	f.constructor(api, names)
	f.methods(names)
	for i, e := range api.Endpoints {
		f.policy(api, e, names.endpoints[i])
		if decodes(e.In) {
			f.decode(api, e, names.endpoints[i])
		}
		if encodes(e.Out) {
			f.encode(api, e, names.endpoints[i])
		}
	}
}

func (f *file) serverType(api *spec.API, names apiNames) {
	f.Add(comment("%s serves the endpoints of %s so that they are safe to retry. It is an http.Handler for all of them; "+
		"each of its fields serves one endpoint, for mounting on any router. "+
		"It is safe for concurrent use, as long as its fields are not changed."+passedOver(api), names.server, api.Name))
	f.Type().Id(names.server).StructFunc(func(g *jen.Group) {
		for i, e := range api.Endpoints {
			field := names.endpoints[i].field
			lines := []string{field + " serves " + e.Method + " " + e.Pattern + "."}
			if doc := docLines(e.Doc); doc != nil {
				lines = append(append(lines, ""), doc...)
			}
			g.Add(commentLines(lines))
			g.Id(field).Add(f.qual(httpPackage, "Handler"))
		}
		g.Line()
		g.Id("mux").Op("*").Add(f.qual(httpPackage, "ServeMux"))
		g.Id("server").Op("*").Add(f.qual(runtimePackage, "Server"))
	})
	f.Line()
}

// passedOver names what of an interface has no endpoint.
func passedOver(api *spec.API) string {
	if len(api.Skipped) == 0 {
		return ""
	}
	return " It passes over " + strings.Join(api.Skipped, ", ") + ", without an //idem:endpoint."
}

// constructor writes the function that builds the handlers.
func (f *file) constructor(api *spec.API, names apiNames) {
	impl, ledger, principal, opts := f.local("impl"), f.local("ledger"), f.local("principal"), f.local("opts")
	s, server, err := f.local("s"), f.local("server"), f.local("err")
	f.Add(comment("%s returns a server that runs requests on %s and keeps their keys and answers in %s. %s names the caller of a request, whose keys are its own. "+
		"It fails when one of the three is nil or when an option is refused.", names.constructor, impl, ledger, principal))
	f.Func().Id(names.constructor).Params(
		jen.Id(impl).Id(api.Name),
		jen.Id(ledger).Add(f.ledgerType(api)),
		jen.Id(principal).Add(f.qual(runtimePackage, "PrincipalFunc")),
		jen.Id(opts).Op("...").Add(f.qual(runtimePackage, "Option")),
	).Params(jen.Op("*").Id(names.server), jen.Error()).BlockFunc(func(g *jen.Group) {
		g.If(jen.Id(impl).Op("==").Nil()).Block(
			jen.Return(jen.Nil(), f.qual(errorsPackage, "New").Call(jen.Lit("idemgen: "+names.constructor+": nil "+api.Name))))
		g.List(jen.Id(server), jen.Id(err)).Op(":=").Add(f.qual(runtimePackage, "NewServer")).Call(jen.Id(ledger), jen.Id(principal), jen.Id(opts).Op("..."))
		g.Add(f.returnError())
		g.Id(s).Op(":=").Op("&").Id(names.server).Values(
			field("mux", f.qual(httpPackage, "NewServeMux").Call()),
			field("server", jen.Id(server)),
		)
		for i, e := range api.Endpoints {
			g.Id(s).Dot(names.endpoints[i].field).Op("=").Add(f.handler(e, names.endpoints[i]))
		}
		g.If(jen.Id(err).Op(":=").Id(server).Dot("Err").Call(), jen.Id(err).Op("!=").Nil()).Block(jen.Return(jen.Nil(), jen.Id(err)))
		for i, e := range api.Endpoints {
			g.Id(s).Dot("mux").Dot("Handle").Call(jen.Lit(e.Method+" "+e.Pattern), jen.Id(s).Dot(names.endpoints[i].field))
		}
		g.Id(s).Dot("mux").Dot("Handle").Call(jen.Lit("/"), jen.Id(server).Dot("Unmatched").Call())
		g.Return(jen.Id(s), jen.Nil())
	})
	f.Line()
}

// methods writes the server's own methods.
func (f *file) methods(names apiNames) {
	s, w, r, ctx := f.local("s"), f.local("w"), f.local("r"), f.local("ctx")
	receiver := jen.Id(s).Op("*").Id(names.server)
	f.Add(comment("ServeHTTP serves all endpoints, each under its method and path."))
	f.Func().Params(receiver).Id("ServeHTTP").Params(
		jen.Id(w).Add(f.qual(httpPackage, "ResponseWriter")),
		jen.Id(r).Op("*").Add(f.qual(httpPackage, "Request")),
	).Block(jen.Id(s).Dot("mux").Dot("ServeHTTP").Call(jen.Id(w), jen.Id(r)))
	f.Line()
	f.Add(comment("Close waits until the completions and sweeps that run in the background are done, or until %s ends. "+
		"Call it when no request is running any more.", ctx))
	f.Func().Params(receiver).Id("Close").Params(jen.Id(ctx).Add(f.qual(contextPackage, "Context"))).Error().
		Block(jen.Return(jen.Id(s).Dot("server").Dot("Close").Call(jen.Id(ctx))))
	f.Line()
}

// ledgerType is the type of the constructor's ledger: one that gives the
// transactions which the endpoints want.
func (f *file) ledgerType(api *spec.API) jen.Code {
	for _, e := range api.Endpoints {
		if e.Tx != nil {
			return f.qual(runtimePackage, "TxLedger").Types(f.transaction(e.Tx))
		}
	}
	return f.qual(runtimePackage, "Ledger")
}

// transaction is the type of what the ledger gives for a transaction.
func (f *file) transaction(tx *spec.Transaction) jen.Code {
	if tx.Kind == spec.PGXTx {
		return f.qual(pgxPackage, "Tx")
	}
	return jen.Op("*").Add(f.qual(sqlPackage, "Tx"))
}

// handed is what a method is given of the ledger's transaction.
func (f *file) handed(tx *spec.Transaction) jen.Code {
	local := jen.Id(f.local("tx"))
	if !tx.Queries {
		return local
	}
	return f.constructorOf(tx).Call(local)
}

// handler is the expression that makes an endpoint's handler.
func (f *file) handler(e *spec.Endpoint, names endpointNames) jen.Code {
	policy := jen.Id(names.policy)
	route := f.qual(runtimePackage, "Route").Custom(literalLines,
		field("Method", f.method(e.Method)),
		field("Pattern", jen.Lit(e.Pattern)),
		field("Status", f.status(e.Status)),
	)
	server := jen.Id(f.local("server"))
	switch {
	case e.Shape == spec.Standard:
		return server.Dot("HandleFunc").Call(policy, route, jen.Id(f.local("impl")).Dot(e.Name))
	case e.Tx != nil:
		return f.qual(runtimePackage, "HandleTx").Call(server, jen.Id(f.local("ledger")), policy, route, f.prepare(e, names))
	default:
		return server.Dot("Handle").Call(policy, route, f.prepare(e, names))
	}
}

// prepare is the function that turns a request into work.
func (f *file) prepare(e *spec.Endpoint, names endpointNames) jen.Code {
	request := jen.Op("*").Add(f.qual(runtimePackage, "Request"))
	if decodes(e.In) || e.Shape == spec.Raw {
		request = jen.Id(f.local("r")).Add(request)
	}
	work := f.qual(runtimePackage, "Work")
	workParams := []jen.Code{jen.Id(f.local("ctx")).Add(f.qual(contextPackage, "Context"))}
	if e.Tx != nil {
		work = f.qual(runtimePackage, "TxWork").Types(f.transaction(e.Tx))
		workParams = append(workParams, jen.Id(f.local("tx")).Add(f.transaction(e.Tx)))
	}
	return jen.Func().Params(request).Params(work, jen.Error()).BlockFunc(func(g *jen.Group) {
		if decodes(e.In) {
			g.List(jen.Id(f.local("in")), jen.Id(f.local("err"))).Op(":=").Id(names.decode).Call(jen.Id(f.local("r")))
			g.Add(f.returnError())
		}
		g.Return(jen.Func().Params(workParams...).
			Params(jen.Op("*").Add(f.qual(runtimePackage, "Response")), jen.Error()).
			BlockFunc(func(g *jen.Group) { f.work(g, e, names) }), jen.Nil())
	})
}

// work writes the statements that call the method and make its response.
func (f *file) work(g *jen.Group, e *spec.Endpoint, names endpointNames) {
	call := jen.Id(f.local("impl")).Dot(e.Name).Call(f.arguments(e)...)
	err := f.local("err")
	switch {
	case e.Shape == spec.Raw:
		g.Return(call)
	case e.Out == nil:
		g.If(jen.Id(err).Op(":=").Add(call), jen.Id(err).Op("!=").Nil()).Block(jen.Return(jen.Nil(), jen.Id(err)))
		g.Return(f.qual(runtimePackage, "NoContent").Call(f.status(e.Status)), jen.Nil())
	default:
		g.List(jen.Id(f.local("out")), jen.Id(err)).Op(":=").Add(call)
		g.Add(f.returnError())
		if encodes(e.Out) {
			g.Return(jen.Id(names.encode).Call(jen.Id(f.local("out"))))
		} else {
			g.Return(f.encodeJSON(e))
		}
	}
}

// arguments are those of the method's call.
func (f *file) arguments(e *spec.Endpoint) []jen.Code {
	arguments := []jen.Code{jen.Id(f.local("ctx"))}
	if e.Shape == spec.Raw {
		return append(arguments, jen.Id(f.local("r")))
	}
	if e.Tx != nil {
		arguments = append(arguments, f.handed(e.Tx))
	}
	if e.In == nil {
		return arguments
	}
	if decodes(e.In) {
		return append(arguments, jen.Id(f.local("in")))
	}
	empty := f.typeOf(e.In.Type).Values()
	if e.In.Pointer {
		empty = jen.Op("&").Add(empty)
	}
	return append(arguments, empty)
}

// returnError leaves a function of two results when err is set.
func (f *file) returnError() jen.Code {
	err := f.local("err")
	return jen.If(jen.Id(err).Op("!=").Nil()).Block(jen.Return(jen.Nil(), jen.Id(err)))
}

// local is the name of a local in this file.
func (f *file) local(name string) string {
	local, ok := f.names.local[name]
	if !ok {
		panic("no name was allotted to the local " + name)
	}
	return local
}
