package explain

import (
	"fmt"
	"io"
	"strings"
)

// Width is the number of columns that the text keeps to, wherever the words
// allow it.
const Width = 100

// WriteText writes the report for a terminal.
func (r *Report) WriteText(w io.Writer) error {
	t := &text{}
	for i, p := range r.Packages {
		if i > 0 {
			t.line("")
		}
		t.line("package %s", p.Path)
		for _, api := range p.APIs {
			t.api(api)
		}
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// text is a report in the making.
type text struct{ strings.Builder }

func (t *text) line(format string, args ...any) {
	t.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " "))
	t.WriteByte('\n')
}

func (t *text) api(a API) {
	t.line("")
	about := []string{"profile " + a.Profile}
	if a.Prefix != "" {
		about = append(about, "prefix "+a.Prefix)
	}
	if l := a.Ledger; l != nil {
		about = append(about, fmt.Sprintf("ledger %s (%s) in %s, table %s", strings.Join(l.Engines, ", "), l.Driver, l.Dir, l.Table))
	} else {
		about = append(about, "any ledger")
	}
	if len(a.Skipped) > 0 {
		about = append(about, "passes over "+strings.Join(a.Skipped, ", "))
	}
	t.spread("interface "+a.Name, at(a.File, a.Line))
	t.line("  %s", strings.Join(about, "; "))
	for _, e := range a.Endpoints {
		t.endpoint(e)
	}
}

func (t *text) endpoint(e Endpoint) {
	t.line("")
	t.spread(fmt.Sprintf("%s  %s %s", e.Name, e.Method, e.Pattern), at(e.File, e.Line))
	about := e.Shape
	if e.Tx != "" {
		about += ", in a transaction (" + e.Tx + "): effect and answer commit together"
	}
	t.line("  %s", about)
	t.line("  %s", e.Lease)
	t.line("")
	t.policy(e.Policy)
	t.line("")
	for _, d := range e.Decisions {
		t.line("  %-28s %s", d.Request, d.text())
	}
}

// policy writes the values in columns; where one needs more room, the column
// of the origins moves on that line only.
func (t *text) policy(values []Value) {
	before := ""
	for _, v := range values {
		directive := v.Directive
		if directive == before {
			directive = ""
		}
		before = v.Directive
		t.line("  %-16s %-44s %s", directive, v.Argument, v.origin())
	}
}

// origin says where a value comes from.
func (v Value) origin() string {
	place := ""
	if v.File != "" {
		place = " " + at(v.File, v.Line)
	}
	if v.From == "lease" {
		return "5/6 of the lease" + place
	}
	return v.From + place
}

func at(file string, line int) string { return fmt.Sprintf("%s:%d", file, line) }

// spread writes a head at the left and a place at the right end of the line.
func (t *text) spread(head, place string) {
	gap := max(2, Width-len(head)-len(place))
	t.line("%s%s%s", head, strings.Repeat(" ", gap), place)
}
