package runtime

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

// Request is what decoders and raw handlers see of an HTTP request: only what
// its fingerprint covers, in the form in which it is compared, so that a
// handler cannot branch on something that a retry may change.
type Request struct {
	Method string
	URI    string // path and query, verbatim from the request line
	// Header has the allowlisted headers only, each with one value: the lines
	// of the request joined by ", ". An empty one is absent.
	Header http.Header
	Body   []byte

	http     *http.Request
	query    url.Values
	queryErr error
	decoded  bool // its body is decoded by a [Decoder]
}

// newRequest shows the part of r that the rule covers.
func newRequest(r *http.Request, rule Rule, body []byte) Request {
	header := make(http.Header, len(rule.Headers))
	for _, name := range rule.Headers {
		canonical := http.CanonicalHeaderKey(name)
		if canonical == "Host" {
			header[canonical] = []string{r.Host}
		} else if values := compared(r.Header[canonical]); len(values) > 0 {
			header[canonical] = values
		}
	}
	return Request{Method: r.Method, URI: requestURI(r), Header: header, Body: body, http: r}
}

// context is the request's own.
func (r *Request) context() context.Context {
	if r.http == nil {
		return context.Background() // refused before it was read
	}
	return r.http.Context()
}

// compared is a header as the fingerprint takes it: the lines joined to one,
// and none where that is empty (RFC 9110, section 5.3).
func compared(lines []string) []string {
	switch {
	case len(lines) == 1 && lines[0] == "":
		return nil
	case len(lines) > 1:
		return []string{strings.Join(lines, ", ")}
	}
	return lines
}

// listElements are the elements of a header that is a list (RFC 9110, section
// 5.6.1): what stands between its commas, unless in quotes, without empty ones.
func listElements(value string) (elements []string) {
	start, quoted := 0, false
	add := func(end int) {
		if element := strings.Trim(value[start:end], " \t"); element != "" {
			elements = append(elements, element)
		}
		start = end + 1
	}
	for i := 0; i < len(value); i++ {
		switch {
		case value[i] == '"':
			quoted = !quoted
		case value[i] == '\\' && quoted:
			i++
		case value[i] == ',' && !quoted:
			add(i)
		}
	}
	if start < len(value) {
		add(len(value))
	}
	return elements
}

// PathValue returns the value of a wildcard of the endpoint's pattern.
func (r *Request) PathValue(name string) string { return r.http.PathValue(name) }

// Query returns the parameters of the query as it stands in URI. A request
// whose query is malformed is refused before it gets here. The map must not be
// changed.
func (r *Request) Query() url.Values {
	if r.query == nil {
		_, query, _ := strings.Cut(r.URI, "?")
		r.query, r.queryErr = url.ParseQuery(query)
	}
	return r.query
}

// checkQuery refuses a query of which a part would be left out.
func (r *Request) checkQuery() error {
	if r.Query(); r.queryErr != nil {
		return invalid(nil, "The query is malformed: its parameters are separated by & and escaped by % and two hexadecimal digits.")
	}
	return nil
}
