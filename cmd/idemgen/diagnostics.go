package main

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/idemgen/idemgen/internal/spec"
)

// diagnostic is one line of -json on standard error.
type diagnostic struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Col     int    `json:"col,omitempty"` // in bytes, from 1
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
	// Hint is what was most likely meant; it stands at the end of the message
	// too.
	Hint  string  `json:"hint,omitempty"`
	Other *second `json:"other,omitempty"`
}

// second is the second place of a diagnostic, such as the other of two
// duplicates.
type second struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Col  int    `json:"col"`
	Note string `json:"note"`
}

// hint is how messages propose something.
var hint = regexp.MustCompile(`\((did you mean [^()]*|try [^()]*|use [^()]*)\)$`)

// printDiagnostic writes one diagnostic as one line of JSON.
func (a *app) printDiagnostic(d diagnostic) {
	if found := hint.FindStringSubmatch(d.Message); found != nil {
		d.Hint = found[1]
	}
	encoder := json.NewEncoder(a.stderr)
	encoder.SetEscapeHTML(false)
	encoder.Encode(d)
}

// maxProblems is how many problems are printed, unless all are asked for.
const maxProblems = 50

// printProblems prints each problem on a line, as compilers do, or as editors
// read them.
func (a *app) printProblems(problems spec.Problems) {
	problems = problems.Sorted()
	if a.json {
		for _, p := range problems {
			d := diagnostic{File: p.Pos.Filename, Line: p.Pos.Line, Col: p.Pos.Column, Code: p.Code, Message: p.Message}
			if o := p.Other; o != nil {
				d.Other = &second{o.Pos.Filename, o.Pos.Line, o.Pos.Column, o.Note}
			}
			a.printDiagnostic(d)
		}
		return
	}
	more := len(problems) - maxProblems
	if more > 0 && !a.verbose {
		problems = problems[:maxProblems]
	}
	fmt.Fprintln(a.stderr, problems)
	if more > 0 && !a.verbose {
		fmt.Fprintf(a.stderr, "and %d more, which -v lists\n", more)
	}
}

// printTrouble prints what is no problem of the sources.
func (a *app) printTrouble(err error) {
	if a.json {
		a.printDiagnostic(diagnostic{Message: err.Error()})
		return
	}
	fmt.Fprintf(a.stderr, "idemgen: %s\n", err)
}
