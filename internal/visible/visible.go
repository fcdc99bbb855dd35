// Package visible shows text of others on a terminal: what would steer the
// terminal, or turn the order of what is read, is written as an escape.
package visible

import (
	"bytes"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// Writer returns a writer that passes text on to w. Line feeds and tabs stay,
// and carriage returns before a line feed; every other control character, what
// changes the direction of text, and the line ends of Unicode become \u and
// four digits, as JSON has them; bytes that are no UTF-8 become \x and two. A
// character may come in several writes. It is for one goroutine.
func Writer(w io.Writer) io.Writer { return &writer{to: w} }

type writer struct {
	to   io.Writer
	held []byte // the beginning of a character
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	text := p
	if len(w.held) > 0 {
		text = append(w.held, p...)
		w.held = nil
	}
	var out bytes.Buffer
	out.Grow(len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1 && !utf8.FullRune(text):
			w.held, size = bytes.Clone(text), len(text)
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, text[0])
		case r == '\n' || r == '\t' || r == '\r' && bytes.HasPrefix(text[1:], []byte("\n")):
			out.WriteRune(r)
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029':
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.Write(text[:size])
		}
		text = text[size:]
	}
	if _, err := w.to.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}
