package runtime

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Header is the part of an answer's header that is kept: fields in the order
// in which they are written, one per value, names in canonical form.
type Header []HeaderField

// HeaderField is one line of a header.
type HeaderField struct{ Name, Value string }

// Get returns the first value of a name in canonical form, or "".
func (h Header) Get(name string) string {
	for _, field := range h {
		if field.Name == name {
			return field.Value
		}
	}
	return ""
}

// fieldValue is a value as it can stand in a header: the bytes that cannot (CR,
// LF, NUL; RFC 9110, section 5.5) become spaces.
func fieldValue(s string) string {
	if !strings.ContainsAny(s, "\r\n\x00") {
		return s
	}
	return toSpaces.Replace(s)
}

var toSpaces = strings.NewReplacer("\r", " ", "\n", " ", "\x00", " ")

// Encode is the form in which a ledger keeps the header: a line
// "Name: value\n" for each field. Bytes that cannot stand in a field value
// (CR, LF, NUL) become spaces.
func (h Header) Encode() []byte {
	size := 0
	for _, field := range h {
		size += len(field.Name) + len(field.Value) + 3
	}
	out := make([]byte, 0, size)
	for _, field := range h {
		out = append(out, field.Name...)
		out = append(out, ": "...)
		out = append(out, fieldValue(field.Value)...)
		out = append(out, '\n')
	}
	return out
}

// errHeaderCorrupt says that stored headers are not what Encode wrote.
var errHeaderCorrupt = errors.New("idemgen: stored headers are corrupt")

// DecodeHeader reads what [Header.Encode] wrote.
func DecodeHeader(stored []byte) (Header, error) { return appendHeader(nil, stored) }

// appendHeader is DecodeHeader into an empty header, in whose memory the result
// is where that is enough.
func appendHeader(h Header, stored []byte) (Header, error) {
	if len(stored) == 0 {
		return nil, nil
	}
	h = slices.Grow(h, bytes.Count(stored, []byte("\n")))
	for rest := string(stored); rest != ""; {
		line, after, terminated := strings.Cut(rest, "\n")
		if !terminated {
			return nil, errHeaderCorrupt
		}
		name, value, found := strings.Cut(line, ": ")
		if !found || !validToken(name) || strings.ContainsAny(value, "\r\x00") {
			return nil, fmt.Errorf("%w: line %d", errHeaderCorrupt, len(h)+1)
		}
		h, rest = append(h, HeaderField{name, value}), after
	}
	return h, nil
}

// keep appends the fields of h that an answer under the policy keeps, sorted
// by name, to an empty header, and returns the names of those that it drops.
// An answer that says to try again keeps the time that it names. Values are made
// fit already here, so that the first answer is what a replay will say: net/http
// would send a NUL.
func (p *Policy) keep(kept Header, status int, h http.Header) (_ Header, dropped []string) {
	for name, values := range h {
		canonical := http.CanonicalHeaderKey(name)
		if !p.keeps(canonical) && (canonical != "Retry-After" || !mayInvite(status)) {
			if !silentlyDropped(canonical) {
				dropped = append(dropped, canonical)
			}
			continue
		}
		for _, value := range values {
			kept = append(kept, HeaderField{canonical, fieldValue(value)})
		}
	}
	slices.SortStableFunc(kept, func(a, b HeaderField) int { return strings.Compare(a.Name, b.Name) })
	return kept, dropped
}

func (p *Policy) keeps(canonical string) bool {
	if canonical == "Content-Type" || canonical == "Content-Encoding" {
		return true
	}
	return slices.ContainsFunc(p.Replay, func(name string) bool { return strings.EqualFold(name, canonical) })
}
