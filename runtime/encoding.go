package runtime

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// encodingProblems checks the codings that bodies may come in.
func (p *Policy) encodingProblems(report func(field, format string, args ...any)) {
	seen := map[string]bool{}
	for _, coding := range p.Encodings {
		switch {
		case !validToken(coding) || coding != strings.ToLower(coding):
			report("Encodings", "%q is not a content coding in lower case, such as gzip", coding)
		case coding == "identity":
			report("Encodings", "identity stands for no encoding, which is always taken")
		case seen[coding]:
			report("Encodings", "%q is listed twice", coding)
		}
		seen[coding] = true
	}
	if len(p.Encodings) > 0 && !slices.Contains(p.Fingerprint.Headers, "content-encoding") {
		report("Encodings", "%s needs the header Content-Encoding in the fingerprint: the same bytes in another encoding are another request", strings.Join(p.Encodings, ","))
	}
}

// errEncoded marks the refusal of an encoded body.
var errEncoded = errors.New("idemgen: the body has an encoding that the endpoint does not take")

// checkEncoding refuses a body in an encoding that nobody would undo.
func (p *Policy) checkEncoding(h http.Header) error {
	lines := h["Content-Encoding"]
	if len(lines) == 0 {
		return nil
	}
	for coding := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		coding = strings.ToLower(strings.Trim(coding, " \t"))
		if coding != "" && coding != "identity" && !slices.Contains(p.Encodings, coding) {
			return &Error{Status: 415, Code: CodeMediaTypeUnexpected, Cause: errEncoded,
				Message: fmt.Sprintf("The body must not be encoded (%s is taken).", p.acceptEncoding())}
		}
	}
	return nil
}

// acceptEncoding tells clients which encodings are taken (RFC 9110, section
// 12.5.3).
func (p *Policy) acceptEncoding() string {
	return strings.Join(append(slices.Clone(p.Encodings), "identity"), ", ")
}
