package runtime

import (
	"context"
	"net/http"
	"net/url"
)

// Request is what decoders and raw handlers see of an HTTP request: only what
// its fingerprint covers, so that a handler cannot branch on something that a
// retry may change.
type Request struct {
	Method string
	URI    string      // path and query, verbatim from the request line
	Header http.Header // the allowlisted headers only
	Body   []byte

	http  *http.Request
	query url.Values
}

// newRequest shows the part of r that the rule covers.
func newRequest(r *http.Request, rule Rule, body []byte) Request {
	header := make(http.Header, len(rule.Headers))
	for _, name := range rule.Headers {
		canonical := http.CanonicalHeaderKey(name)
		if canonical == "Host" {
			header[canonical] = []string{r.Host}
		} else if values := r.Header[canonical]; len(values) > 0 {
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

// PathValue returns the value of a wildcard of the endpoint's pattern.
func (r *Request) PathValue(name string) string { return r.http.PathValue(name) }

// Query returns the parameters of the URL's query. The map must not be changed.
func (r *Request) Query() url.Values {
	if r.query == nil {
		r.query = r.http.URL.Query()
	}
	return r.query
}
