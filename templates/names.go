package templates

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/idemgen/idemgen/internal/spec"
)

// names are all identifiers that a file declares.
type names struct {
	local    map[string]string // a local's usual name to the one it has here
	apis     []apiNames
	declared map[string]bool // at package level, by this file
}

// apiNames are the identifiers of one interface.
type apiNames struct {
	server, constructor string
	endpoints           []endpointNames
}

// endpointNames are the identifiers of one endpoint.
type endpointNames struct {
	field                  string // of the server
	policy, decode, encode string
}

// locals are the usual names of the parameters and variables in generated
// functions.
var locals = []string{"ctx", "d", "err", "impl", "in", "ledger", "opts", "out", "principal", "r", "s", "server", "tx", "w"}

// allotNames chooses the names. used are the identifiers of the package that
// the code mentions: no local may hide them.
//
// Exported names are part of the package's API and never change to make room:
// when one is taken, that is a problem. Other names get a number.
func allotNames(p *spec.Package, used map[string]bool) (*names, spec.Problems) {
	n := &names{local: map[string]string{}, declared: map[string]bool{}}
	var problems spec.Problems
	for _, api := range p.APIs {
		a := serverNames(api)
		for _, name := range []string{a.server, a.constructor} {
			if p.Taken[name] || n.declared[name] {
				problems = append(problems, spec.Problem{Pos: api.Pos, Code: spec.CodeNameTaken, Message: fmt.Sprintf(
					"%s is declared in package %s already, but the generated code of %s needs the name: rename one of them", name, p.Name, api.Name)})
			}
			n.declared[name] = true
		}
		n.apis = append(n.apis, a)
	}
	for i, api := range p.APIs {
		fields := fieldNames(api)
		for j, e := range api.Endpoints {
			n.apis[i].endpoints = append(n.apis[i].endpoints, endpointNames{
				field:  fields[j],
				policy: n.declare(p, lowerFirst(api.Name)+e.Name+"Policy"),
				decode: n.declare(p, "decode"+upperFirst(api.Name)+e.Name),
				encode: n.declare(p, "encode"+upperFirst(api.Name)+e.Name),
			})
		}
	}
	for _, name := range locals {
		n.local[name] = numbered(name, func(candidate string) bool {
			return used[candidate] || n.declared[candidate] || candidate != name && slices.Contains(locals, candidate)
		})
	}
	return n, problems
}

// declare allots a name at package level.
func (n *names) declare(p *spec.Package, name string) string {
	name = numbered(name, func(candidate string) bool {
		return p.Taken[candidate] || n.declared[candidate] || slices.Contains(locals, candidate)
	})
	n.declared[name] = true
	return name
}

// blocksImport reports whether an import may not have a name: a declaration
// would clash with it, or a local would hide it.
func (n *names) blocksImport(name string) bool {
	if n.declared[name] {
		return true
	}
	for _, local := range n.local {
		if local == name {
			return true
		}
	}
	return false
}

// numbered returns the name, or the name with the first number from 2 that is
// not taken.
func numbered(name string, taken func(string) bool) string {
	candidate := name
	for i := 2; taken(candidate); i++ {
		candidate = name + strconv.Itoa(i)
	}
	return candidate
}

// serverNames are the names of an interface's server and constructor. They are
// exported where the interface is.
func serverNames(api *spec.API) apiNames {
	if token.IsExported(api.Name) {
		return apiNames{server: api.Name + "Server", constructor: "New" + api.Name + "Server"}
	}
	return apiNames{server: api.Name + "Server", constructor: "new" + upperFirst(api.Name) + "Server"}
}

// fieldNames are the names of the server's fields: those of the methods, except
// where the server has a method of that name itself.
func fieldNames(api *spec.API) []string {
	used := map[string]bool{"ServeHTTP": true, "Close": true}
	for _, e := range api.Endpoints {
		used[e.Name] = true
	}
	fields := make([]string, len(api.Endpoints))
	for i, e := range api.Endpoints {
		fields[i] = e.Name
		if e.Name == "ServeHTTP" || e.Name == "Close" {
			fields[i] = numbered(e.Name+"Handler", func(candidate string) bool { return used[candidate] })
			used[fields[i]] = true
		}
	}
	return fields
}

// lowerFirst makes an exported name unexported: Orders orders, HTTPOrders
// httpOrders, API api.
func lowerFirst(name string) string {
	runes := []rune(name)
	upper := 0
	for upper < len(runes) && unicode.IsUpper(runes[upper]) {
		upper++
	}
	if upper > 1 && upper < len(runes) && unicode.IsLower(runes[upper]) {
		upper-- // the last capital begins the next word
	}
	return strings.ToLower(string(runes[:upper])) + string(runes[upper:])
}

// upperFirst makes the first letter a capital.
func upperFirst(name string) string {
	runes := []rune(name)
	runes[0] = unicode.ToUpper(runes[0])
	return string(runes)
}

// usable reports whether an import can have the name at all. err is one that
// package jen keeps for itself.
func usable(name string) bool {
	return token.IsIdentifier(name) && types.Universe.Lookup(name) == nil &&
		name != "_" && name != "init" && name != "main" && name != "err"
}

// predeclared are the predeclared identifiers that every generated file uses.
var predeclared = []string{"error", "false", "nil", "string", "true"}

// checkPredeclared reports predeclared identifiers that the package hides from
// the code.
func checkPredeclared(p *spec.Package) (problems spec.Problems) {
	for _, name := range predeclared {
		if p.Types.Scope().Lookup(name) != nil {
			problems = append(problems, spec.Problem{Pos: p.APIs[0].Pos, Code: spec.CodePredeclared, Message: fmt.Sprintf(
				"package %s declares %s, but the generated code of %s needs the predeclared one: rename it", p.Name, name, p.APIs[0].Name)})
		}
	}
	return problems
}
