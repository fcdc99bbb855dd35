package runtime

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
)

// Transport is an http.RoundTripper for the calls that handlers make to other
// services: it gives unsafe requests (RFC 9110, section 9.2.1) the key that
// [DerivedKey] derives from the request being handled, so that the other side
// sees one key however often the handler runs. The context of the outgoing
// request must be the handler's or one derived from it. A request that carries
// a key already keeps it; two are an error, and an empty one is none.
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
	if isSafe(r.Method) {
		return base.RoundTrip(r)
	}
	key, err := ownKey(r.Header, header)
	if err == nil && key == "" {
		key, err = t.key(r)
	}
	if err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, fmt.Errorf("idemgen: %s %s: %w", r.Method, r.URL.Redacted(), err)
	}
	// A RoundTripper must not change the request.
	keyed := r.Clone(r.Context())
	if keyed.Header == nil {
		keyed.Header = http.Header{}
	}
	maps.DeleteFunc(keyed.Header, func(name string, _ []string) bool { return strings.EqualFold(name, header) })
	keyed.Header.Set(header, key)
	return base.RoundTrip(keyed)
}

// ownKey is the key that a request carries already, however its header is
// written; an empty one is none.
func ownKey(h http.Header, header string) (key string, err error) {
	for name, values := range h {
		if !strings.EqualFold(name, header) {
			continue
		}
		for _, value := range values {
			if value == "" {
				continue
			}
			if key != "" && key != value {
				return "", fmt.Errorf("the call has two keys in its header %s", http.CanonicalHeaderKey(header))
			}
			key = value
		}
	}
	return key, nil
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

// isSafe reports whether a method has no effect to repeat: those that the IANA
// registry of methods calls safe.
func isSafe(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, "PRI", "PROPFIND", "QUERY", "REPORT", "SEARCH":
		return true
	}
	return false
}
