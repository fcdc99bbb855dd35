package explain

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteSummary writes one line for each endpoint, for a terminal: what it
// serves, which method does it and in which way, and where that stands.
func (r *Report) WriteSummary(w io.Writer) error {
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range r.Packages {
		for _, api := range p.APIs {
			for _, e := range api.Endpoints {
				shape := e.Shape
				if e.Tx != "" {
					shape += " in a transaction"
				}
				fmt.Fprintf(columns, "%s %s\t%s.%s\t%s\t%s\n", e.Method, e.Pattern, api.Name, e.Name, shape, at(e.File, e.Line))
			}
		}
	}
	return columns.Flush()
}
