package runtime

import (
	"errors"
	"fmt"
	"strings"
)

// Rule says what of a request joins its fingerprint beside method, path and
// query: the headers, in this order, and the body. The zero value is not
// valid.
type Rule struct {
	Body    BodyMode
	Headers []string // lower case
}

// BodyMode is how the body joins the fingerprint.
type BodyMode string

const (
	// BodyRaw takes the bytes as they came.
	BodyRaw BodyMode = "raw"
	// BodyJSON takes a canonical form of JSON bodies; other content types,
	// and bodies without a canonical form, stay raw.
	BodyJSON BodyMode = "json"
)

// ruleVersion is the version of the fingerprint's construction. A binary
// answers rows of another version with idempotency_key_retry.
const ruleVersion = "1"

// ErrRuleUnknown is returned by [ParseRule] for a rule that this binary cannot
// apply.
var ErrRuleUnknown = errors.New("idemgen: unknown fingerprint rule")

// String is the form in which the rule is stored in its rows, such as
// "1 raw content-type x-api-version".
func (r Rule) String() string {
	return strings.Join(append([]string{ruleVersion, string(r.Body)}, r.Headers...), " ")
}

// ParseRule reads what [Rule.String] wrote. Its error is [ErrRuleUnknown].
func ParseRule(s string) (Rule, error) {
	words := strings.Split(s, " ")
	if len(words) < 2 || words[0] != ruleVersion {
		return Rule{}, fmt.Errorf("%w: %q", ErrRuleUnknown, s)
	}
	r := Rule{Body: BodyMode(words[1]), Headers: words[2:]}
	if r.Body != BodyRaw && r.Body != BodyJSON {
		return Rule{}, fmt.Errorf("%w: %q", ErrRuleUnknown, s)
	}
	for _, name := range r.Headers {
		if !validToken(name) || name != strings.ToLower(name) {
			return Rule{}, fmt.Errorf("%w: %q", ErrRuleUnknown, s)
		}
	}
	return r, nil
}
