package runtime

import (
	"fmt"
	"net/http"
)

// checkKey holds a key against the policy.
func (p *Policy) checkKey(key string) error {
	rule := ""
	switch {
	case key == "":
		rule = "is empty"
	case p.KeySyntax == KeySF && key == `""`:
		rule = "is an empty string"
	case len(key) > p.KeyMax:
		rule = fmt.Sprintf("has %d bytes; at most %d are allowed", len(key), p.KeyMax)
	case !printable(key):
		rule = "must be printable ASCII"
	case p.KeySyntax == KeySF && !sfString(key):
		rule = "must be an RFC 8941 string in double quotes"
	default:
		return nil
	}
	return &Error{Status: 400, Code: CodeKeyInvalid, Message: "The " + p.KeyHeader + " header " + rule + "."}
}

// key reads the key header; "" is an optional key that is absent.
func (p *Policy) key(h http.Header) (string, error) {
	lines := h.Values(p.KeyHeader)
	switch {
	case len(lines) == 0 && p.KeyOptional:
		return "", nil
	case len(lines) == 0:
		return "", &Error{Status: 400, Code: CodeKeyRequired, Message: "The " + p.KeyHeader + " header is required."}
	case len(lines) > 1:
		return "", &Error{Status: 400, Code: CodeKeyInvalid, Message: fmt.Sprintf("The %s header stands there %d times; once is allowed.", p.KeyHeader, len(lines))}
	}
	key := lines[0]
	if p.KeySyntax == KeySF {
		if text, ok := sfItem(key); ok {
			key = text
		}
	}
	return key, p.checkKey(key)
}
