package source

import (
	"fmt"
	"go/types"
	"reflect"
	"strings"

	"github.com/idemgen/idemgen/internal/spec"
	"github.com/idemgen/idemgen/runtime"
)

// dumpPackage writes what was read of a package; of policies what differs from
// the default.
func dumpPackage(b *strings.Builder, pkg *spec.Package) {
	fmt.Fprintf(b, "package %s %s\n", pkg.Name, pkg.Path)
	if pkg.BuildConstraint != "" {
		fmt.Fprintf(b, "constraint %s\n", pkg.BuildConstraint)
	}
	for _, api := range pkg.APIs {
		fmt.Fprintf(b, "api %s prefix=%q profile=%s\n", api.Name, api.Prefix, api.Profile)
		if l := api.Ledger; l != nil {
			fmt.Fprintf(b, "\tledger %v driver=%s dir=%s table=%s\n", l.Engines, l.Driver, l.Dir, l.Table)
		}
		if len(api.Skipped) > 0 {
			fmt.Fprintf(b, "\tpasses over %s\n", strings.Join(api.Skipped, ", "))
		}
		for _, e := range api.Endpoints {
			dumpEndpoint(b, e)
		}
	}
}

var shapeNames = map[spec.Shape]string{spec.Typed: "typed", spec.Raw: "raw", spec.Standard: "standard"}

func dumpEndpoint(b *strings.Builder, e *spec.Endpoint) {
	fmt.Fprintf(b, "\t%s %s %s status=%d %s", e.Name, e.Method, e.Pattern, e.Status, shapeNames[e.Shape])
	if e.Tx != nil {
		fmt.Fprintf(b, " tx=%s", types.TypeString(e.Tx.Type, nil))
		if e.Tx.Queries {
			fmt.Fprintf(b, " of %s", e.Tx.Kind)
		}
	}
	if e.Statuses != nil {
		fmt.Fprintf(b, " says one of %v", e.Statuses)
	}
	fmt.Fprintln(b)
	if e.Doc != "" {
		fmt.Fprintf(b, "\t\tdoc %q\n", e.Doc)
	}
	if in := e.In; in != nil {
		fmt.Fprintf(b, "\t\tin %s pointer=%t body=%t validate=%s\n", types.TypeString(in.Type, nil), in.Pointer, in.Body, []string{"false", "true", "context"}[in.Validate])
		if in.Strict {
			fmt.Fprint(b, "\t\t\tread strictly\n")
		}
		dumpFields(b, in.Fields)
	}
	if out := e.Out; out != nil {
		fmt.Fprintf(b, "\t\tout %s pointer=%t\n", types.TypeString(out.Type, nil), out.Pointer)
		dumpFields(b, out.Headers)
	}
	preset := reflect.ValueOf(runtime.DefaultPolicy(e.Method + " " + e.Pattern))
	policy := reflect.ValueOf(e.Policy)
	for i := range policy.NumField() {
		if value := policy.Field(i).Interface(); !reflect.DeepEqual(value, preset.Field(i).Interface()) {
			fmt.Fprintf(b, "\t\t%s=%v\n", policy.Type().Field(i).Name, value)
		}
	}
}

func dumpFields(b *strings.Builder, fields []spec.Field) {
	forms := []string{"single", "pointer", "list"}
	kinds := []string{"string", "bool", "int", "uint", "float", "duration", "text"}
	for _, f := range fields {
		fmt.Fprintf(b, "\t\t\t%s %s:%q %s %s %s\n", f.Selector, f.Place, f.Name, forms[f.Form], types.TypeString(f.Elem, nil), kinds[f.Kind])
	}
}
