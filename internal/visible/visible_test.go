package visible

import (
	"bytes"
	"testing"
)

func TestWriter(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"a\tb\nc\r\nd":                "a\tb\nc\r\nd",
		"\x1b[2J\x1b]0;title\a":       `\u001b[2J\u001b]0;title\u0007`,
		"over\rwritten":               `over\u000dwritten`,
		"\u009b31m":                   `\u009b31m`,
		"\x9b31m":                     `\x9b31m`,
		"a\x00b\x7f":                  `a\u0000b\u007f`,
		"\u202egnp.exe":               `\u202egnp.exe`,
		"größer, 日本, 👩‍👧, \ufffd":     "größer, 日本, 👩‍👧, \ufffd",
		"a\u2028b":                    `a\u2028b`,
		"broken \xe6\x97 and a\xffz":  `broken \xe6\x97 and a\xffz`,
		"backslashes \\x1b stay here": `backslashes \x1b stay here`,
	} {
		var whole, bytewise bytes.Buffer
		if n, err := Writer(&whole).Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("%q: %d, %v", text, n, err)
		}
		w := Writer(&bytewise)
		for i := range len(text) {
			w.Write([]byte{text[i]})
		}
		if whole.String() != want {
			t.Errorf("%q: %q, want %q", text, whole.String(), want)
		}
		if text != "a\tb\nc\r\nd" && bytewise.String() != want {
			t.Errorf("%q by bytes: %q, want %q", text, bytewise.String(), want)
		}
	}
}
