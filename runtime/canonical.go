package runtime

import (
	"bytes"
	"mime"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// isJSON reports whether a Content-Type is application/json or ends in +json.
func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}

// canonicalJSON rewrites one JSON value (RFC 8259) so that two texts come out
// equal exactly when they hold the same value: members sorted by name, no
// insignificant space, strings with one form of escaping, numbers by their
// decimal value. It reports false for a text that has no such form: invalid
// JSON or UTF-8, unpaired surrogates, duplicate members, nesting beyond
// maxJSONDepth, exponents beyond 18 digits.
func canonicalJSON(text []byte) ([]byte, bool) {
	if !utf8.Valid(text) {
		return nil, false
	}
	c := canonicalizer{in: text, out: make([]byte, 0, len(text))}
	if !c.value(0) {
		return nil, false
	}
	c.space()
	return c.ordered(), c.at == len(c.in)
}

// maxJSONDepth bounds the recursion, and the copying, that a body can cause.
const maxJSONDepth = 128

var literals = [][]byte{[]byte("true"), []byte("false"), []byte("null")}

type canonicalizer struct {
	in  []byte
	at  int
	out []byte
	// unsorted are the objects in out whose members are not in order.
	unsorted []unsortedObject
}

// unsortedObject is an object in out: its opening brace stands at start, the
// closing one at end.
type unsortedObject struct {
	start, end int
	members    []span // in order
}

// span is a part of out.
type span struct{ start, end int }

// ordered is out with all members in order. Each byte is copied once, however
// deep it stands.
func (c *canonicalizer) ordered() []byte {
	if len(c.unsorted) == 0 {
		return c.out
	}
	slices.SortFunc(c.unsorted, func(a, b unsortedObject) int { return a.start - b.start })
	return c.order(make([]byte, 0, len(c.out)), span{0, len(c.out)})
}

// order appends a part of out with its members in order.
func (c *canonicalizer) order(to []byte, part span) []byte {
	for {
		next, _ := slices.BinarySearchFunc(c.unsorted, part.start, func(o unsortedObject, at int) int { return o.start - at })
		if next == len(c.unsorted) || c.unsorted[next].start >= part.end {
			return append(to, c.out[part.start:part.end]...)
		}
		o := c.unsorted[next]
		to = append(to, c.out[part.start:o.start+1]...)
		for i, member := range o.members {
			if i > 0 {
				to = append(to, ',')
			}
			to = c.order(to, member)
		}
		part.start = o.end
	}
}

func (c *canonicalizer) space() {
	for c.at < len(c.in) {
		switch c.in[c.at] {
		case ' ', '\t', '\r', '\n':
			c.at++
		default:
			return
		}
	}
}

// take consumes b after white space, when it comes next.
func (c *canonicalizer) take(b byte) bool {
	c.space()
	if c.at < len(c.in) && c.in[c.at] == b {
		c.at++
		return true
	}
	return false
}

func (c *canonicalizer) value(depth int) bool {
	c.space()
	if depth > maxJSONDepth || c.at == len(c.in) {
		return false
	}
	switch b := c.in[c.at]; {
	case b == '{':
		return c.object(depth)
	case b == '[':
		return c.array(depth)
	case b == '"':
		s, ok := c.str()
		c.out = appendJSONString(c.out, s)
		return ok
	case b == '-' || b >= '0' && b <= '9':
		return c.number()
	}
	for _, word := range literals {
		if bytes.HasPrefix(c.in[c.at:], word) {
			c.at += len(word)
			c.out = append(c.out, word...)
			return true
		}
	}
	return false
}

func (c *canonicalizer) array(depth int) bool {
	c.at++
	c.out = append(c.out, '[')
	for first := true; !c.take(']'); first = false {
		if !first {
			if !c.take(',') {
				return false
			}
			c.out = append(c.out, ',')
		}
		if !c.value(depth + 1) {
			return false
		}
	}
	c.out = append(c.out, ']')
	return true
}

// object writes its members as they come and remembers their order where they
// are not in it.
func (c *canonicalizer) object(depth int) bool {
	type member struct {
		name string
		span // in the output, without the comma
	}
	var members []member
	c.at++
	brace := len(c.out)
	c.out = append(c.out, '{')
	for first := true; !c.take('}'); first = false {
		if !first {
			if !c.take(',') {
				return false
			}
			c.out = append(c.out, ',')
		}
		c.space()
		if c.at == len(c.in) || c.in[c.at] != '"' {
			return false
		}
		name, ok := c.str()
		if !ok || !c.take(':') {
			return false
		}
		start := len(c.out)
		c.out = append(appendJSONString(c.out, name), ':')
		if !c.value(depth + 1) {
			return false
		}
		members = append(members, member{name, span{start, len(c.out)}})
	}
	byName := func(a, b member) int { return strings.Compare(a.name, b.name) }
	if !slices.IsSortedFunc(members, byName) {
		slices.SortFunc(members, byName)
		o := unsortedObject{start: brace, end: len(c.out), members: make([]span, len(members))}
		for i, m := range members {
			o.members[i] = m.span
		}
		c.unsorted = append(c.unsorted, o)
	}
	for i := 1; i < len(members); i++ {
		if members[i-1].name == members[i].name {
			return false
		}
	}
	c.out = append(c.out, '}')
	return true
}

// str reads a string literal and returns the text that it stands for.
func (c *canonicalizer) str() (string, bool) {
	c.at++
	var b []byte
	for c.at < len(c.in) {
		switch ch := c.in[c.at]; {
		case ch == '"':
			c.at++
			return string(b), true
		case ch < 0x20:
			return "", false
		case ch != '\\':
			b = append(b, ch)
			c.at++
		default:
			r, ok := c.escape()
			if !ok {
				return "", false
			}
			b = utf8.AppendRune(b, r)
		}
	}
	return "", false
}

func (c *canonicalizer) escape() (rune, bool) {
	if c.at+1 >= len(c.in) {
		return 0, false
	}
	const letters, meanings = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	kind := c.in[c.at+1]
	if i := strings.IndexByte(letters, kind); i >= 0 {
		c.at += 2
		return rune(meanings[i]), true
	}
	first, ok := c.unicodeEscape()
	if !ok || first < 0xd800 || first > 0xdfff {
		return first, ok
	}
	second, ok := c.unicodeEscape()
	if !ok || first > 0xdbff || second < 0xdc00 || second > 0xdfff {
		return 0, false
	}
	return (first-0xd800)<<10 + (second - 0xdc00) + 0x10000, true
}

func (c *canonicalizer) unicodeEscape() (rune, bool) {
	if c.at+6 > len(c.in) || c.in[c.at] != '\\' || c.in[c.at+1] != 'u' {
		return 0, false
	}
	var r rune
	for _, b := range c.in[c.at+2 : c.at+6] {
		switch {
		case b >= '0' && b <= '9':
			r = r<<4 | rune(b-'0')
		case b|0x20 >= 'a' && b|0x20 <= 'f':
			r = r<<4 | rune(b|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	c.at += 6
	return r, true
}

// digits reads a run of decimal digits.
func (c *canonicalizer) digits() string {
	start := c.at
	for c.at < len(c.in) && c.in[c.at] >= '0' && c.in[c.at] <= '9' {
		c.at++
	}
	return string(c.in[start:c.at])
}

// number writes the number as its digits without leading and trailing zeros,
// and the power of ten behind them: 1.50e3 and 1500 are both 15e2. Nothing is
// expanded, so the size of the output is bounded by that of the input.
func (c *canonicalizer) number() bool {
	negative := c.in[c.at] == '-'
	if negative {
		c.at++
	}
	whole := c.digits()
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return false
	}
	fraction := ""
	if c.at < len(c.in) && c.in[c.at] == '.' {
		c.at++
		if fraction = c.digits(); fraction == "" {
			return false
		}
	}
	var exponent int64
	if c.at < len(c.in) && c.in[c.at]|0x20 == 'e' {
		c.at++
		sign := ""
		if c.at < len(c.in) && (c.in[c.at] == '+' || c.in[c.at] == '-') {
			sign = string(c.in[c.at])
			c.at++
		}
		digits := c.digits()
		if digits == "" {
			return false
		}
		digits = strings.TrimLeft(digits, "0")
		if len(digits) > 18 {
			return false
		}
		exponent, _ = strconv.ParseInt(sign+"0"+digits, 10, 64)
	}
	all := strings.TrimLeft(whole+fraction, "0")
	significant := strings.TrimRight(all, "0")
	if significant == "" {
		c.out = append(c.out, '0')
		return true
	}
	exponent += int64(len(all)-len(significant)) - int64(len(fraction))
	if negative {
		c.out = append(c.out, '-')
	}
	c.out = append(c.out, significant...)
	c.out = append(c.out, 'e')
	c.out = strconv.AppendInt(c.out, exponent, 10)
	return true
}

// appendJSONString writes s with the fewest escapes that JSON allows.
func appendJSONString(out []byte, s string) []byte {
	out = append(out, '"')
	for i := 0; i < len(s); i++ {
		switch b := s[i]; {
		case b == '"' || b == '\\':
			out = append(out, '\\', b)
		case b < 0x20:
			out = append(out, `\u00`...)
			out = append(out, "0123456789abcdef"[b>>4], "0123456789abcdef"[b&15])
		default:
			out = append(out, b)
		}
	}
	return append(out, '"')
}
