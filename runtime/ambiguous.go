package runtime

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"strings"
)

// A fingerprint must not be the same for two requests that a handler would tell
// apart. Where the rule of a row that stands cannot be changed for that, the
// requests in question are refused.

// unclear refuses a request that its readers may take for different ones.
func (x *exchange) unclear(r *http.Request) error {
	if x.otherCase = isOtherCase(r.Method); x.otherCase {
		return invalid(nil, "The method is not in upper case: methods are compared case-sensitively.")
	}
	types := r.Header["Content-Type"]
	if slices.ContainsFunc(types, func(other string) bool { return other != types[0] }) {
		return invalid(nil, "The Content-Type header stands there with different values; one is allowed.",
			FieldError{Parameter: "Content-Type", Detail: "It stands there once."})
	}
	return x.endpoint.guard.policy.checkEncoding(r.Header)
}

// isOtherCase reports whether a method is not in upper case (RFC 9110, section
// 9.1). The fingerprint takes it for the one that is.
func isOtherCase(method string) bool { return method != strings.ToUpper(method) }

// unordered refuses a JSON body whose canonical form loses an order that may
// matter: whoever folds names takes the last of several that are alike.
// Decoders know which of them fill one field, and have refused those.
func (x *exchange) unordered(r *http.Request) error {
	if x.endpoint.guard.policy.Fingerprint.Body != BodyJSON || x.request.decoded || !isJSON(r.Header.Get("Content-Type")) {
		return nil
	}
	clash := namesClash(x.parts.Body, nil)
	if clash == nil || clash.deep {
		return nil
	}
	if _, canonical := canonicalJSON(x.parts.Body); !canonical {
		return nil
	}
	return clash.refusal()
}

// fingerprint is that of the exchange's request under a rule. A method in
// another case is another one, and no row has its fingerprint.
func (x *exchange) fingerprint(rule Rule) [32]byte {
	sum := rule.Fingerprint(x.parts)
	if x.otherCase {
		sum = sha256.Sum256(sum[:])
	}
	return sum
}
