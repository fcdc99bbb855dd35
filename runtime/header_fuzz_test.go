package runtime

import (
	"net/http"
	"strings"
	"testing"
)

// FuzzKeptHeaders lets handlers set what they like: what is kept of it decodes
// to the same lines, and no value makes a line of its own.
func FuzzKeptHeaders(f *testing.F) {
	f.Add("Location", "/v1/orders/7", "Link", "<a>; rel=x")
	f.Add("location", "a\r\nSet-Cookie: session=stolen", "Link", "\x00\n")
	f.Add("Content-Type", "", "Content-Type", "a: b\nc: d\n")
	f.Add("Set-Cookie", "a=b", "Content-Length", "3")
	f.Add("Link\r\nX", "a", "link", "caf\xe9")
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2 string) {
		p := DefaultPolicy("POST /")
		p.Replay = append(p.Replay, "Link")
		h := http.Header{}
		h[name1] = append(h[name1], value1)
		h[name2] = append(h[name2], value2)
		kept, _ := p.keep(nil, 200, h)
		decoded, err := DecodeHeader(kept.Encode())
		if err != nil || len(decoded) != len(kept) {
			t.Fatalf("%q became %q, %v", kept, decoded, err)
		}
		for i, field := range kept {
			if decoded[i] != field || strings.ContainsAny(field.Value, "\r\n\x00") {
				t.Fatalf("%q became %q", field, decoded[i])
			}
			switch field.Name {
			case "Content-Type", "Location", "Link":
			default:
				t.Fatalf("%q was kept", field)
			}
		}
	})
}

// FuzzParseRule reads what may stand in a row: it does not panic, and what it
// accepts is written back as it was.
func FuzzParseRule(f *testing.F) {
	for _, text := range []string{"1 raw content-type", "1 json", "2 raw", "1 raw ", "1 raw a b a", "1  raw", "1 raw X"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rule, err := ParseRule(text)
		if err == nil && rule.String() != text {
			t.Fatalf("%q became %q", text, rule)
		}
	})
}
