package spec

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"
	"strings"
)

// Problem is one broken rule in a user's source. Message quotes the value and
// states the rule.
type Problem struct {
	Pos     token.Position
	Code    string // stable, see docs/errors.md
	Message string
	// Other is a second place, such as the other of two duplicates.
	Other *Other
}

// Other is the second place of a problem.
type Other struct {
	Pos  token.Position
	Note string
}

// Problems is an error that holds all broken rules of a run.
type Problems []Problem

// Error is one line per problem, sorted, in the form file:line:col: message,
// with the second place on an indented line.
func (p Problems) Error() string {
	var b strings.Builder
	for i, problem := range p.Sorted() {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s: %s", problem.Pos, problem.Message)
		if problem.Other != nil {
			fmt.Fprintf(&b, "\n\t%s at %s", problem.Other.Note, problem.Other.Pos)
		}
	}
	return b.String()
}

// Sorted returns the problems in order of file, line and column, without
// repetitions.
func (p Problems) Sorted() Problems {
	sorted := slices.Clone(p)
	slices.SortStableFunc(sorted, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Pos.Filename, b.Pos.Filename),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.CompactFunc(sorted, func(a, b Problem) bool {
		return a.Pos == b.Pos && a.Message == b.Message
	})
}
