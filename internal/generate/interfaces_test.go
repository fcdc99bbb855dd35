package generate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// choices are the decisions of a fuzzer: each takes a byte, and when they have
// run out it is the first possibility.
type choices []byte

func (c *choices) below(n int) int {
	if len(*c) == 0 {
		return 0
	}
	b := (*c)[0]
	*c = (*c)[1:]
	return int(b) % n
}

func (c *choices) yes() bool { return c.below(2) == 1 }

func (c *choices) of(possible ...string) string { return possible[c.below(len(possible))] }

// drawnPackage is a package of annotated interfaces that break no rule, as a
// fuzzer drew it.
type drawnPackage struct {
	*choices
	taken   map[string]bool
	imports map[string]string // of the file of the interfaces, path to name
	decls   strings.Builder   // declarations for the file of the types
	api     strings.Builder   // the interfaces
	types   int               // how many have been declared
}

// drawPackage draws a package: a file of its interfaces, and one of all else.
func drawPackage(data []byte) map[string]string {
	p := &drawnPackage{choices: (*choices)(&data), taken: map[string]bool{}, imports: map[string]string{}}
	name := p.of("p", "main", "http", "runtime", "ledger")
	p.decoys()
	for i := range 1 + p.below(3) {
		p.drawInterface(i)
	}
	var api strings.Builder
	fmt.Fprintf(&api, "package %s\n\nimport (\n", name)
	for _, path := range slices.Sorted(maps.Keys(p.imports)) {
		fmt.Fprintf(&api, "\t%s %q\n", p.imports[path], path)
	}
	api.WriteString(")\n" + p.api.String())
	types := "package " + name + `

import (
	otherTime "time"

	"example.test/shared"
)

type Name string

type Level int8

type Text struct{ s string }

func (t *Text) UnmarshalText(b []byte) error { t.s = string(b); return nil }

func (t Text) MarshalText() ([]byte, error) { return []byte(t.s), nil }

type Item struct {
	N  int                ` + "`json:\"n\"`" + `
	At otherTime.Time     ` + "`json:\"at\"`" + `
	B  shared.Box[[]Name] ` + "`json:\"b\"`" + `
}

type Page[T any] struct {
	Items []T ` + "`json:\"items\"`" + `
	Next  *T  ` + "`json:\"next,omitempty\"`" + `
}

type Alias = Item

type ListOf[T any] = Page[T]

` + p.decls.String()
	return map[string]string{"api.go": api.String(), "types.go": types}
}

// decoys declares names that generated code would like to have.
func (p *drawnPackage) decoys() {
	for range p.below(8) {
		name := p.of("d", "err", "in", "out", "ctx", "impl", "ledger", "opts", "principal", "r", "s", "server", "tx", "w",
			"runtime", "time", "http", "errors", "context", "sql", "json", "pgx", "shared2",
			"api0CreatePolicy", "api0CreatePolicy", "decodeAPI0Create", "encodeAPI0Create", "orders1DoPolicy", "len", "make", "append", "panic")
		if !p.taken[name] {
			p.taken[name] = true
			fmt.Fprintf(&p.decls, p.of("var %s struct{}\n", "func %s() {}\n", "type %s struct{}\n", "const %s = 1\n")+"\n", name)
		}
	}
}

// imported is the name of an import of the interfaces' file.
func (p *drawnPackage) imported(path, usual string) string {
	if name, done := p.imports[path]; done {
		return name
	}
	name := p.of(usual, usual, "x", "in", "err", "url", "ctx", "s")
	for p.taken[name] {
		name += "x"
	}
	p.taken[name] = true
	p.imports[path] = name
	return name
}

// drawnInterface is what the methods of an interface have in common.
type drawnInterface struct {
	index     int
	tx        string // what its methods have for a transaction; "" for none
	keyHeader string
	mysql     bool // its ledger is one of MySQL
}

func (p *drawnPackage) drawInterface(index int) {
	i := drawnInterface{index: index, tx: p.of("", "sql", "pgx"), keyHeader: "Idempotency-Key"}
	fmt.Fprintf(&p.api, "\n// %s.\n//\n", p.of("API is one", "*/ `x` %d \\ \"", "Deprecated: gone", "DO NOT EDIT"))
	fmt.Fprintf(&p.api, "//idem:api prefix=/p%d%s%s\n", index, p.of("", " profile=d1", " profile=stripe", " profile=ietf"), p.of("", " errors=json"))
	switch engine := p.of("", "sqlite", "postgres", "mysql", "sqlite,postgres"); {
	case engine == "":
	case i.tx == "pgx":
		fmt.Fprintf(&p.api, "//idem:ledger engine=postgres driver=pgx dir=ledger%d table=%s\n", index, p.of("keys_of_it", "shop.keys_of_it"))
	default:
		i.mysql = engine == "mysql"
		fmt.Fprintf(&p.api, "//idem:ledger engine=%s dir=ledger%d\n", engine, index)
	}
	if p.yes() {
		i.keyHeader = "X-Key"
		p.api.WriteString("//idem:key header=X-Key\n")
	}
	p.api.WriteString(p.of("", "//idem:scope operation\n"))
	p.api.WriteString(p.of("", "//idem:retain 48h gone=1h sweep=0\n"))
	p.api.WriteString(p.of("", "//idem:lease 1h timeout=10m\n"))
	fmt.Fprintf(&p.api, "type %s%d interface {\n", p.of("API", "API", "API", "Orders", "Orders", "orders", "HTTPThing", "Ünï", "aPI"), index)
	names := []string{"Create", "Do", "Close", "ServeHTTP", "CloseHandler", "New", "ID", "Ärger", "Func_2"}
	for n := range 1 + p.below(4) {
		at := p.below(2) * p.below(len(names)) // the first ones more often
		name := names[at]
		names = slices.Delete(names, at, at+1)
		p.drawMethod(i, n, name)
	}
	p.api.WriteString("}\n")
}

// drawMethod draws a method with all its directives.
func (p *drawnPackage) drawMethod(i drawnInterface, n int, name string) {
	verb, path := p.of("POST", "PUT", "PATCH", "DELETE", "MKCOL"), fmt.Sprintf("/m%d", n)
	p.api.WriteString(p.of("", "\t// Doc of it, with // and */ in it.\n\t//\n", "\t// Does `it`.\n"))
	directives := p.optionalDirectives(i)
	shape := p.below(5)
	if shape > 1 {
		path += p.of("", "/{id}", "/{rest...}", "/{$}")
	}
	var signature string
	switch shape {
	case 4:
		http := p.imported("net/http", "http")
		signature = fmt.Sprintf("(w %s.ResponseWriter, r *%s.Request)", http, http)
	case 3:
		context, runtime := p.imported("context", "context"), p.imported("github.com/idemgen/idemgen/runtime", "runtime")
		signature = fmt.Sprintf("(%s.Context, *%s.Request) (*%s.Response, error)", context, runtime, runtime)
		directives += p.of("", "\t//idem:key optional header="+i.keyHeader+"\n")
	default:
		typed := p.drawTyped(i, fmt.Sprintf("/m%d", n))
		if i.mysql || strings.Contains(directives, "wait=") {
			typed.directives = strings.ReplaceAll(typed.directives, "once", "twice") // with those there is no once
		}
		signature, path, directives = typed.signature, typed.path, directives+typed.directives
	}
	status := ""
	if shape != 4 && strings.HasSuffix(signature, ") error") {
		status = p.of("", " status=202", " status=204")
	} else if shape != 4 {
		status = p.of("", " status=201", " status=303")
	}
	operation := p.of("", fmt.Sprintf(" name=op.%d.%d", i.index, n), fmt.Sprintf(" name=\"an operation %d %d\"", i.index, n))
	fmt.Fprintf(&p.api, "\t//idem:endpoint %s %s%s%s\n%s\t%s%s\n\n", verb, path, status, operation, directives, name, signature)
}

// optionalDirectives are those that go with every shape.
func (p *drawnPackage) optionalDirectives(drawnInterface) string {
	return p.of("", "\t//idem:request max=2MiB\n") +
		p.of("", "\t//idem:lease 10s timeout=1500ms\n") +
		p.of("", "\t//idem:retain 2h\n", "\t//idem:retain 87840h gone=100h sweep=10000\n") +
		p.of("", "\t//idem:scope principal\n", "\t//idem:scope operation\n") +
		p.of("", "\t//idem:on failure=hold\n", "\t//idem:on mismatch=409 failure=release wait=1m\n")
}

// drawnMethod is a typed method.
type drawnMethod struct{ signature, path, directives string }

// drawTyped draws a typed method, whose tags, path and lists of headers go
// together.
func (p *drawnPackage) drawTyped(i drawnInterface, path string) drawnMethod {
	m := drawnMethod{path: path}
	params := []string{p.of("", "ctx ", "_ ", "context ") + p.imported("context", "context") + ".Context"}
	named := params[0][0] != p.imports["context"][0] || strings.Contains(params[0], " ")
	param := func(name, t string) {
		if named {
			t = name + " " + t
		}
		params = append(params, t)
	}
	hasTx := i.tx != "" && p.yes()
	if hasTx {
		param(p.of("tx", "sql", "_"), p.transaction(i))
		m.directives += p.of("", "\t//idem:commit twice\n", "\t//idem:commit retry=3\n", "\t//idem:commit once retry=10\n")
	} else {
		m.directives += p.of("", "\t//idem:key optional syntax=sf max=64 header="+i.keyHeader+"\n")
	}
	if p.yes() {
		request := p.drawStruct(false)
		param(p.of("in", "http", "r", "_"), p.of("", "*")+request.name)
		for _, wildcard := range request.path {
			m.path += "/{" + wildcard + "}"
		}
		if len(request.headers) > 0 {
			m.directives += "\t//idem:fingerprint " + strings.Join(append(request.headers, "Content-Type"), p.of(" ", ",")) + p.of("", " body=json") + "\n"
		}
	}
	result := "error"
	if p.yes() {
		answer := p.drawStruct(true)
		result = "(" + p.of("", "*") + answer.name + ", error)"
		if len(answer.headers) > 0 {
			m.directives += "\t//idem:response replay=" + strings.Join(answer.headers, ",") + p.of("", " max=1MiB") + "\n"
		}
	}
	m.signature = "(" + strings.Join(params, ", ") + ") " + result
	return m
}

// transaction is the type of a transaction parameter.
func (p *drawnPackage) transaction(i drawnInterface) string {
	queries := p.yes()
	switch {
	case i.tx == "sql" && queries:
		return "*" + p.imported("example.test/store", "store") + ".Queries"
	case i.tx == "sql":
		return "*" + p.imported("database/sql", "sql") + ".Tx"
	case queries:
		return "*" + p.imported("example.test/pgxstore", "pgxstore") + ".Queries"
	default:
		return p.imported("github.com/jackc/pgx/v5", "pgx") + ".Tx"
	}
}

// drawnStruct is the type of a request or a result.
type drawnStruct struct {
	name          string
	path, headers []string
}

// alike are packages of the same content, whose names are each other's, those of
// what generated code imports, or those of its locals and declarations.
var alike = map[string]string{
	"example.test/shared": "shared", "example.test/v2/shared": "shared", "example.test/shared.v3": "shared",
	"example.test/in": "in", "example.test/d": "d", "example.test/impl/r": "r", "example.test/runtime": "runtime",
	"example.test/errors": "errors", "example.test/decode": "decodeAPI0Create", "example.test/policy": "api0CreatePolicy",
}

// drawStruct draws a type, and declares it where it needs to be.
func (p *drawnPackage) drawStruct(output bool) drawnStruct {
	switch p.below(8) {
	case 1:
		return drawnStruct{name: p.imported("example.test/shared", "shared") + ".In"}
	case 2:
		return drawnStruct{name: p.imported("example.test/shared", "shared") + ".Box[map[string]*Page[Item]]"}
	case 3:
		return drawnStruct{name: p.of("Alias", "Item", "Page[Alias]", "ListOf[Name]", "Page[[3]Level]", "struct{}")}
	case 4:
		// Types of one name and of packages of one name, and types without one.
		path := p.of(slices.Sorted(maps.Keys(alike))...)
		phantom := p.imported(path, alike[path]) + ".Phantom"
		return drawnStruct{name: phantom + "[" + p.of("Name", "chan<- func(n int, more ...string) (ok bool, err error)",
			"struct {\n\tItem\n\tA, b int `json:\"a\"`\n}", "interface {\n\terror\n\tM(x int) (y string)\n}",
			"map[Name][2]*Level", phantom+"[<-chan []Alias]", "interface{}") + "]"}
	}
	p.types++
	s := drawnStruct{name: fmt.Sprintf("T%d", p.types)}
	if local := p.of("", "", "in", "out", "d", "r", "err", "tx"); local != "" && !p.taken[local] {
		s.name = local
	}
	p.taken[s.name] = true
	var fields strings.Builder
	for n := range p.below(5) {
		p.drawField(&fields, &s, fmt.Sprintf("F%d", n), output)
	}
	for n := range p.below(3) {
		fmt.Fprintf(&fields, "\tJ%d %s `json:\"j%d\"`\n", n, p.of("string", "[]byte", "map[string]int", "*Item", "Page[Item]", "interface{}", "Text"), n)
	}
	embedded := p.of("", "\tItem\n", "\tshared.In\n", "\tBase"+s.name+"\n")
	if strings.HasPrefix(embedded, "\tBase") {
		var base strings.Builder
		p.drawField(&base, &s, "Base", output)
		fmt.Fprintf(&p.decls, "type Base%s struct {\n%s}\n\n", s.name, base.String())
	}
	fmt.Fprintf(&p.decls, "type %s struct {\n%s%s}\n\n", s.name, embedded, fields.String())
	if !output {
		p.decls.WriteString(p.of("", "func ("+s.name+") Validate() error { return nil }\n\n", "func (*"+s.name+") Validate() error { return nil }\n\n"))
	}
	return s
}

// drawField draws a field that stands outside the body.
func (p *drawnPackage) drawField(fields *strings.Builder, s *drawnStruct, name string, output bool) {
	t := p.of("string", "bool", "int", "uint16", "int64", "float32", "Name", "Level", "Text", "shared.Name", "otherTime.Time")
	place := p.of("path", "query", "header")
	if output {
		place = "header"
	}
	if place != "path" {
		t = p.of("", "*", "[]") + t
	}
	value := fmt.Sprintf("%s%d", strings.ToLower(name), len(s.path))
	switch place {
	case "path":
		s.path = append(s.path, value)
	case "header":
		value = fmt.Sprintf("X-%s", name)
		s.headers = append(s.headers, value)
	}
	fmt.Fprintf(fields, "\t%s %s `json:\"-\" %s:%q`\n", name, t, place, value)
}
