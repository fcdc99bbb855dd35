package runtime

import (
	"crypto/sha256"
	"net/http"
	"strings"
)

// FingerprintParts are what a rule takes a request's fingerprint from. The
// parts are only read.
type FingerprintParts struct {
	Method string
	URI    string // path and query, verbatim from the request line
	Host   string // Go keeps the Host header out of Header
	Header http.Header
	Body   []byte
}

// Fingerprint is SHA-256 over "METHOD\n", "path?query\n", "name:value\n" for
// each header of the rule in its order (several values joined by ", ", an
// absent header empty; an empty line when the rule has no headers) and the
// body, raw or canonical as the rule says.
func (r Rule) Fingerprint(p FingerprintParts) [32]byte {
	head := make([]byte, 0, 256)
	head = append(head, strings.ToUpper(p.Method)...)
	head = append(head, '\n')
	head = append(head, p.URI...)
	head = append(head, '\n')
	for _, name := range r.Headers {
		head = append(head, name...)
		head = append(head, ':')
		if name == "host" {
			head = append(head, p.Host...)
		}
		for i, value := range p.Header[http.CanonicalHeaderKey(name)] {
			if i > 0 {
				head = append(head, ", "...)
			}
			head = append(head, value...)
		}
		head = append(head, '\n')
	}
	if len(r.Headers) == 0 {
		head = append(head, '\n')
	}
	body := p.Body
	if r.Body == BodyJSON && isJSON(p.Header.Get("Content-Type")) {
		if canonical, ok := canonicalJSON(body); ok {
			body = canonical
		}
	}
	h := sha256.New()
	h.Write(head)
	h.Write(body)
	var sum [32]byte
	h.Sum(sum[:0])
	return sum
}

// requestURI is the path and query of r as they stood on the request line.
func requestURI(r *http.Request) string {
	uri := r.RequestURI
	if uri == "" {
		return r.URL.RequestURI()
	}
	if uri[0] == '/' || uri == "*" {
		return uri
	}
	// An absolute-form target (RFC 9112, section 3.2.2) names scheme and
	// authority, which are not part of path and query. net/http also takes one
	// without authority. Only what stands behind the first colon counts: a
	// query may hold a URL of its own.
	_, rest, found := strings.Cut(uri, ":")
	if !found || rest == "" || rest[0] != '/' {
		return uri
	}
	rest, found = strings.CutPrefix(rest, "//")
	if !found {
		return rest
	}
	at := strings.IndexAny(rest, "/?")
	if at < 0 {
		return "/"
	}
	if rest[at] == '?' {
		return "/" + rest[at:]
	}
	return rest[at:]
}
