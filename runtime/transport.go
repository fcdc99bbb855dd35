package runtime

import (
	"errors"
	"fmt"
	"net/http"
)

// Transport is an http.RoundTripper for the calls that handlers make to other
// services: it gives unsafe requests (RFC 9110, section 9.2.1) the key that
// [DerivedKey] derives from the request being handled, so that the other side
// sees one key however often the handler runs. The context of the outgoing
// request must be the handler's or one derived from it. A request that carries
// the header already is left as it is.
//
// A request without a claim in its context, or without a step, is an error: it
// would be sent without protection, or share its key with another call.
// Transport is safe for concurrent use.
type Transport struct {
	// Base sends the requests; nil is http.DefaultTransport.
	Base http.RoundTripper
	// Header carries the key; "" is Idempotency-Key.
	Header string
	// Step names the call that a request makes, such as "authorize": the same
	// on every attempt of the handler, and another for every call.
	Step func(*http.Request) string
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	header := t.Header
	if header == "" {
		header = "Idempotency-Key"
	}
	if isSafe(r.Method) || len(r.Header.Values(header)) > 0 {
		return base.RoundTrip(r)
	}
	key, err := t.key(r)
	if err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, fmt.Errorf("idemgen: %s %s: %w", r.Method, r.URL.Redacted(), err)
	}
	// A RoundTripper must not change the request.
	keyed := r.Clone(r.Context())
	keyed.Header.Set(header, key)
	return base.RoundTrip(keyed)
}

func (t *Transport) key(r *http.Request) (string, error) {
	step := ""
	if t.Step != nil {
		step = t.Step(r)
	}
	if step == "" {
		return "", errors.New("the call has no step to derive a key for")
	}
	return DerivedKey(r.Context(), step)
}

// isSafe reports whether a method has no effect to repeat.
func isSafe(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}
