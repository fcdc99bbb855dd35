// Package explain says what annotated interfaces amount to: each endpoint with
// its effective policy, where each value of it comes from, and what becomes of
// a request.
package explain

import (
	"cmp"
	"go/types"
	"path"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/internal/spec"
)

// Report is the explanation of a run. Its form in JSON is stable: members are
// added, never renamed.
type Report struct {
	Packages []Package `json:"packages"`
}

// Package is one package with annotated interfaces.
type Package struct {
	Path string `json:"path"`
	APIs []API  `json:"apis"`
}

// API is one annotated interface.
type API struct {
	Name    string  `json:"name"`
	File    string  `json:"file"`
	Line    int     `json:"line"`
	Prefix  string  `json:"prefix,omitempty"`
	Profile string  `json:"profile"`
	Ledger  *Ledger `json:"ledger,omitempty"` // absent: the server takes any
	// Skipped are the methods and embedded types without endpoint.
	Skipped   []string   `json:"skipped,omitempty"`
	Endpoints []Endpoint `json:"endpoints"`
}

// Ledger is the ledger package that is generated for an interface.
type Ledger struct {
	Engines []string `json:"engines"`
	Driver  string   `json:"driver"`
	Dir     string   `json:"dir"`
	Table   string   `json:"table"`
}

// Endpoint is one annotated method.
type Endpoint struct {
	Name      string `json:"name"`
	File      string `json:"file"`
	Line      int    `json:"line"`
	Method    string `json:"method"`
	Pattern   string `json:"pattern"`
	Status    int    `json:"status,omitempty"` // absent: the handler writes its own
	Shape     string `json:"shape"`
	Tx        string `json:"tx,omitempty"`
	Operation string `json:"operation"`
	Marker    string `json:"replay_marker"`
	// Lease is the life of a claim as one line of text.
	Lease     string     `json:"lease"`
	Policy    []Value    `json:"policy"`
	Decisions []Decision `json:"decisions"`
}

// Value is one value of a policy, in the words of its directive.
type Value struct {
	Directive string `json:"directive"` // idem:lease
	// Argument is the argument as it may be written on the method:
	// "timeout=25s".
	Argument string `json:"argument"`
	// From is default, profile, interface, method, or lease for a timeout
	// that follows from it.
	From string `json:"from"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// Explain explains packages that keep all rules.
func Explain(packages []*spec.Package) *Report {
	report := &Report{Packages: []Package{}}
	for _, p := range packages {
		if len(p.APIs) == 0 {
			continue
		}
		explained := Package{Path: p.Path}
		for _, api := range p.APIs {
			explained.APIs = append(explained.APIs, explainAPI(p, api))
		}
		report.Packages = append(report.Packages, explained)
	}
	slices.SortStableFunc(report.Packages, func(a, b Package) int { return cmp.Compare(a.Path, b.Path) })
	return report
}

func explainAPI(p *spec.Package, api *spec.API) API {
	explained := API{Skipped: api.Skipped, Name: api.Name, File: api.Pos.Filename, Line: api.Pos.Line, Prefix: api.Prefix, Profile: api.Profile, Endpoints: []Endpoint{}}
	if l := api.Ledger; l != nil {
		explained.Ledger = &Ledger{Engines: l.Engines, Driver: l.Driver, Dir: path.Clean(l.Dir), Table: l.Table}
	}
	for _, e := range api.Endpoints {
		explained.Endpoints = append(explained.Endpoints, explainEndpoint(p, e))
	}
	return explained
}

func explainEndpoint(p *spec.Package, e *spec.Endpoint) Endpoint {
	explained := Endpoint{
		Name: e.Name, File: e.Pos.Filename, Line: e.Pos.Line,
		Method: e.Method, Pattern: e.Pattern, Status: e.Status, Shape: shapeNames[e.Shape],
		Operation: e.Policy.Operation, Marker: e.Policy.ReplayMarker,
		Lease: leaseLine(e.Policy), Policy: values(e), Decisions: decisions(e),
	}
	if e.Shape == spec.Standard {
		explained.Status = 0
	}
	if e.Tx != nil {
		explained.Tx = types.TypeString(e.Tx.Type, qualifier(p))
	}
	return explained
}

var shapeNames = map[spec.Shape]string{spec.Typed: "typed", spec.Raw: "raw", spec.Standard: "standard"}

// qualifier names packages as the source of p most likely does.
func qualifier(p *spec.Package) types.Qualifier {
	return func(other *types.Package) string {
		if other == p.Types {
			return ""
		}
		return strings.TrimSpace(other.Name())
	}
}
