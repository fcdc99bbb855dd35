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

// otherUnsafeMethods are the other methods that change something at the server
// (the IANA method registry).
var otherUnsafeMethods = strings.Fields(`
	ACL BASELINE-CONTROL BIND CHECKIN CHECKOUT COPY LABEL LINK LOCK MERGE MKACTIVITY MKCALENDAR MKCOL MKREDIRECTREF
	MKWORKSPACE MOVE ORDERPATCH PROPPATCH REBIND UNBIND UNCHECKOUT UNLINK UNLOCK UPDATE UPDATEREDIRECTREF VERSION-CONTROL`)

// safeMethods change nothing at the server, so that a retry needs no key (the
// IANA method registry).
var safeMethods = []string{"GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH", "QUERY", "PRI"}

// checkMethod says what is wrong with an endpoint's method, or "".
func checkMethod(method string) string {
	upper := strings.ToUpper(method)
	known := slices.Concat(unsafeMethods, safeMethods, otherUnsafeMethods)
	// One slip away from a common method is a slip.
	near := slices.IndexFunc(known[:len(unsafeMethods)+len(safeMethods)], func(m string) bool { return distance(upper, m) <= 1 })
	several := strings.FieldsFunc(upper, func(r rune) bool { return strings.ContainsRune("|,;+&", r) })
	switch {
	case slices.Contains(unsafeMethods, method), slices.Contains(otherUnsafeMethods, method):
		return ""
	case slices.Contains(safeMethods, upper):
		return fmt.Sprintf("%q is a safe method: it is retried without a key, so only unsafe methods such as %s are endpoints", method, orList(unsafeMethods))
	case strings.Contains(method, "/"):
		return fmt.Sprintf("%q is not an HTTP method: write METHOD /pattern, such as POST /orders", method)
	case len(several) > 1:
		return fmt.Sprintf("%q is not one HTTP method: an endpoint has one; declare a Go method for each of %s", method, strings.Join(several, ", "))
	case slices.Contains(otherUnsafeMethods, upper):
		return fmt.Sprintf("%q is not an HTTP method: methods are written in upper case", method)
	case near >= 0:
		return fmt.Sprintf("%q is not an HTTP method (did you mean %s?)", method, known[near])
	default:
		return fmt.Sprintf("%q is not the method of an endpoint: use %s, or another unsafe method that IANA has registered, such as MKCOL", method, orList(unsafeMethods))
	}
}

// foreignWildcard says which wildcard was meant by a segment that other routers
// take for one, or "". net/http would take it literally.
func foreignWildcard(pattern string) string {
	if optional := optionalForm.FindString(pattern); optional != "" {
		return fmt.Sprintf("has %q in it, but no wildcard is optional here: declare a Go method for the path without it", optional)
	}
	if i := strings.IndexAny(pattern, "?#"); i >= 0 {
		return fmt.Sprintf("has %q in it, which no path has: query parameters are fields with the tag `query:\"name\"`", pattern[i:])
	}
	// A segment is not cut inside braces: {id:[^/]+} is one.
	for _, segment := range segmentForm.FindAllString(pattern, -1) {
		segment = segment[1:]
		name := nameForm.FindString(strings.TrimLeft(segment, ":*<{[($@"))
		switch name = strings.TrimPrefix(strings.TrimPrefix(name, "int:"), "string:"); {
		case segment == "":
		case strings.HasPrefix(segment, "{") && strings.ContainsAny(segment, ":"):
			return fmt.Sprintf("has the segment %q, but a wildcard has no expression here: write {%s}, and check the value in Validate", segment, orName(name, "id"))
		case segment[0] == ':', segment[0] == '$' && name != "", segment[0] == '@' && len(segment) == 1:
			return fmt.Sprintf("has the segment %q, but a wildcard is written {%s} here, as http.ServeMux does", segment, orName(name, "id"))
		case segment[0] == '*', strings.HasPrefix(segment, "{*"):
			return fmt.Sprintf("has the segment %q, but the rest of a path is written {%s...} here, as http.ServeMux does", segment, orName(name, "rest"))
		case segment[0] == '<', segment[0] == '[', segment[0] == '(':
			return fmt.Sprintf("has the segment %q, but a wildcard is written {%s} here, as http.ServeMux does", segment, orName(lastName(segment), "id"))
		case strings.ContainsAny(segment, "*<>[]()|^") && !strings.Contains(segment, "{"):
			return fmt.Sprintf("has the segment %q, which is literal here: a wildcard is a whole segment, {name} or {rest...}", segment)
		}
	}
	return ""
}

var (
	optionalForm = regexp.MustCompile(`\{[^{}/]*\?\}|/:[A-Za-z0-9_]+\?`)
	segmentForm  = regexp.MustCompile(`/(?:\{[^{}]*\}|[^/{])*`)
	nameForm     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)
	namesForm    = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
)

// lastName is the last identifier of a segment such as <int:id>.
func lastName(segment string) string {
	all := namesForm.FindAllString(segment, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

func orName(name, other string) string {
	if name == "" {
		return other
	}
	return name
}

// checkPrefix says what is wrong with the path in front of the patterns, or "".
func checkPrefix(prefix string) string {
	switch {
	case !strings.HasPrefix(prefix, "/"):
		return fmt.Sprintf("prefix %q does not begin with /", prefix)
	case strings.HasSuffix(prefix, "/"):
		return fmt.Sprintf("prefix %q ends with /: the pattern behind it begins with one", prefix)
	}
	if text := foreignWildcard(prefix); text != "" {
		return fmt.Sprintf("prefix %q %s", prefix, text)
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
