package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// mutation is one break.
type mutation struct {
	what string // as the table says it
	file string // from the root of the repository
	// old stands in the file exactly once and is replaced by new.
	old, new string
	test     test // must fail
}

// test is a named test, and where to run it.
type test struct {
	module string // its folder, from the root of the repository
	pkg    string // from the module, with ./
	name   string // TestName, or TestName/case as -v prints it
}

// pattern is the -run argument that selects the test alone.
func (t test) pattern() string {
	parts := strings.Split(t.name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// all are the mutations, in the order of the table.
func all() []mutation {
	return slices.Concat(engineMutations, requestMutations, sqliteMutations, postgresMutations)
}

// apply breaks the text of the file.
func (m mutation) apply(text string) (string, error) {
	if n := strings.Count(text, m.old); n != 1 {
		return "", fmt.Errorf("the text to replace stands there %d times; once is needed", n)
	}
	return strings.Replace(text, m.old, m.new, 1), nil
}
