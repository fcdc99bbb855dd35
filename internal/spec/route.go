package spec

import (
	"fmt"
	"go/token"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// unsafeMethods are the methods that an endpoint most likely has.
var unsafeMethods = []string{"POST", "PUT", "PATCH", "DELETE"}

// safeMethods change nothing at the server, so that a retry needs no key (the
// IANA method registry).
var safeMethods = []string{"GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH", "QUERY", "PRI"}

// checkMethod says what is wrong with an endpoint's method, or "".
func checkMethod(method string) string {
	upper := strings.ToUpper(method)
	switch {
	case slices.Contains(safeMethods, upper):
		return fmt.Sprintf("%q is a safe method: it is retried without a key, so only unsafe methods such as %s are endpoints", method, orList(unsafeMethods))
	case strings.Contains(method, "/"):
		return fmt.Sprintf("%q is not an HTTP method: write METHOD /pattern, such as POST /orders", method)
	case upper == "CONNECT" || !isToken(method):
		return fmt.Sprintf("%q is not the method of an endpoint: use %s", method, orList(unsafeMethods))
	case slices.Contains(unsafeMethods, method):
		return ""
	}
	for _, known := range append(slices.Clone(unsafeMethods), safeMethods...) {
		// One slip away from a known method is a slip, not an extension.
		if distance(upper, known) <= 1 {
			return fmt.Sprintf("%q is not an HTTP method (did you mean %s?)", method, known)
		}
	}
	if method != upper {
		return fmt.Sprintf("%q is not an HTTP method: methods are written in upper case", method)
	}
	return ""
}

// checkPrefix says what is wrong with the path in front of the patterns, or "".
func checkPrefix(prefix string) string {
	switch {
	case !strings.HasPrefix(prefix, "/"):
		return fmt.Sprintf("prefix %q does not begin with /", prefix)
	case strings.HasSuffix(prefix, "/"):
		return fmt.Sprintf("prefix %q ends with /: the pattern behind it begins with one", prefix)
	}
	if text := tryPattern("POST " + prefix + "/"); text != "" {
		return fmt.Sprintf("prefix %q cannot stand in a pattern: %s", prefix, text)
	}
	return ""
}

// tryPattern asks net/http's own ServeMux whether it takes a pattern, and
// returns its reason when it does not.
func tryPattern(pattern string) (reason string) {
	_, reason = register(http.NewServeMux(), pattern)
	// "parsing \"POST /a{\": at offset 6: bad wildcard segment"
	reason = strings.TrimPrefix(reason, fmt.Sprintf("parsing %q: ", pattern))
	if offset, text, found := strings.Cut(reason, ": "); found && strings.HasPrefix(offset, "at offset ") {
		reason = text
	}
	return reason
}

// conflict asks ServeMux whether two patterns can stand in one mux, and
// returns its explanation when they cannot.
func conflict(first, second string) string {
	mux := http.NewServeMux()
	register(mux, first)
	ok, reason := register(mux, second)
	if ok {
		return ""
	}
	// The first line names the places of registration, which are ours.
	if _, explanation, found := strings.Cut(reason, "\n"); found {
		reason = explanation
	}
	return strings.Join(strings.Fields(reason), " ")
}

// register adds a pattern to a mux and turns the panic of a refusal into its
// text.
func register(mux *http.ServeMux, pattern string) (ok bool, reason string) {
	defer func() {
		if p := recover(); p != nil {
			ok, reason = false, fmt.Sprint(p)
		}
	}()
	mux.Handle(pattern, http.NotFoundHandler())
	return true, ""
}

// wildcardForm is a wildcard of a pattern that ServeMux takes: there it is
// always a whole segment.
var wildcardForm = regexp.MustCompile(`\{([^{}]*)\}`)

// wildcards returns the names of a pattern's wildcards, in order.
func wildcards(pattern string) []string {
	var names []string
	for _, match := range wildcardForm.FindAllStringSubmatch(pattern, -1) {
		if name := strings.TrimSuffix(match[1], "..."); name != "$" {
			names = append(names, name)
		}
	}
	return names
}

// OperationName is the name of an operation when none is given: method and
// pattern without the names of wildcards, since renaming a wildcard does not
// change what the operation is. {id} becomes {}, {rest...} becomes {...}, and
// {$} stays.
func OperationName(method, pattern string) string {
	return method + " " + wildcardForm.ReplaceAllStringFunc(pattern, func(wildcard string) string {
		switch {
		case wildcard == "{$}":
			return wildcard
		case strings.HasSuffix(wildcard, "...}"):
			return "{...}"
		default:
			return "{}"
		}
	})
}

// route is an endpoint's place in the mux, with where it was written.
type route struct {
	goName  string
	pattern string // "POST /v1/orders"
	pos     token.Position
}

// conflicts reports each route that cannot stand in one mux with the earlier
// ones, at its pattern.
func conflicts(routes []route) Problems {
	var problems Problems
	mux := http.NewServeMux()
	for i, later := range routes {
		if ok, _ := register(mux, later.pattern); ok {
			continue
		}
		for _, earlier := range routes[:i] {
			if explanation := conflict(earlier.pattern, later.pattern); explanation != "" {
				problems = append(problems, Problem{
					Pos: later.pos, Code: CodeConflict,
					Message: fmt.Sprintf("idem:endpoint: the pattern of %s conflicts with that of %s: %s", later.goName, earlier.goName, explanation),
					Other:   &Other{earlier.pos, "the pattern of " + earlier.goName + " is"},
				})
				break
			}
		}
	}
	return problems
}
