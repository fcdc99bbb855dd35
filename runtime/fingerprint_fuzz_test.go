package runtime

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// FuzzRequestURI reads request lines: whatever a client sends, what joins the
// fingerprint is one line that begins with the path, verbatim.
func FuzzRequestURI(f *testing.F) {
	for _, target := range []string{"/", "/v1/a%2Fb?x=%2f", "/v1/orders?", "*", "http://shop.example/v1/a?b", "http://shop.example", "http://shop.example?q", "//a/b", "/a?b#c", "/a b", "mailto:x", "a:b"} {
		f.Add(target)
	}
	f.Fuzz(func(t *testing.T, target string) {
		r, err := readRequest("POST " + target + " HTTP/1.1\r\nHost: a\r\n\r\n")
		if err != nil {
			return
		}
		uri := requestURI(r)
		if uri == "" || strings.ContainsAny(uri, "\r\n") {
			t.Fatalf("%q became %q, which is not one line", target, uri)
		}
		if strings.HasPrefix(target, "/") && uri != target {
			t.Fatalf("%q became %q", target, uri)
		}
		// An absolute target and its origin form are one request.
		if rest, absolute := strings.CutPrefix(target, "http://a"); absolute && strings.HasPrefix(rest, "/") && uri != rest {
			t.Fatalf("%q became %q", target, uri)
		}
		// What the router goes by is what was compared.
		if path, _, _ := strings.Cut(uri, "?"); r.URL.Opaque == "" && strings.HasPrefix(path, "/") && r.URL.Path != "" && r.URL.EscapedPath() != path && !sameEscaped(path, r.URL.EscapedPath()) {
			t.Fatalf("%q: compared %q, routed %q", target, path, r.URL.EscapedPath())
		}
	})
}

// sameEscaped reports whether two paths differ in nothing but escapes.
func sameEscaped(a, b string) bool {
	x, errX := url.ParseRequestURI(a)
	y, errY := url.ParseRequestURI(b)
	return errX == nil && errY == nil && x.Path == y.Path
}

// FuzzFingerprintPairs makes two requests of one by changing one part of it, and
// reads both as a server does: they share a fingerprint exactly when they are
// equal part by part.
func FuzzFingerprintPairs(f *testing.F) {
	f.Add("POST", "/v1/orders", "application/json", "2", "", []byte(`{"a":1}`), uint8(0), "PUT")
	f.Add("POST", "/v1/a?b", "text/plain", "", "x", []byte("body"), uint8(1), "/v1/a?b&")
	f.Add("POST", "/", "a", "b", "c", []byte("x-two:\n"), uint8(2), "a\r\nX-One: b")
	f.Add("POST", "/", "application/json", "", "", []byte(`{"a":1,"b":2}`), uint8(5), ` {"b":2.0,"a":10e-1} `)
	f.Add("POST", "/", "application/json", "", "", []byte(`[9007199254740993]`), uint8(5), `[9007199254740992]`)
	f.Add("POST", "/", "application/json", "", "", []byte(`{"a":1e999999999}`), uint8(5), `{"a":10e999999998}`)
	f.Add("POST", "/", "a", "", "", []byte(""), uint8(3), "b")
	f.Add("POST", "/", "a", "b, c", "", []byte(""), uint8(3), "b\r\nX-One: c")
	f.Add("POST", "/", "a", "1", "1", []byte(""), uint8(4), "")
	rules := []Rule{
		{Body: BodyRaw, Headers: []string{"content-type", "x-one", "x-two"}},
		{Body: BodyJSON, Headers: []string{"x-two", "content-type", "x-one"}},
		{Body: BodyJSON, Headers: []string{"content-type"}},
		{Body: BodyRaw},
	}
	f.Fuzz(func(t *testing.T, method, target, contentType, one, two string, body []byte, part uint8, with string) {
		parts := []string{method, target, contentType, one, two, string(body)}
		a, err := read(parts)
		if err != nil {
			return
		}
		parts[int(part)%len(parts)] = with
		b, err := read(parts)
		if err != nil {
			return
		}
		for _, rule := range rules {
			same, known := a.equals(t, b, rule)
			if !known {
				continue
			}
			if got := rule.Fingerprint(a.parts()) == rule.Fingerprint(b.parts()); got != same {
				t.Fatalf("under %q, equal %v, one fingerprint %v:\n%+v\n%+v", rule, same, got, a, b)
			}
		}
	})
}

// wire is a request as it was read.
type wire struct {
	method, uri string
	header      http.Header
	body        []byte
}

// read sends the parts of a request and reads it.
func read(parts []string) (wire, error) {
	text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: a\r\nContent-Type: %s\r\nX-One: %s\r\nX-Two: %s\r\nContent-Length: %d\r\n\r\n%s",
		parts[0], parts[1], parts[2], parts[3], parts[4], len(parts[5]), parts[5])
	r, err := readRequest(text)
	if err != nil {
		return wire{}, err
	}
	body, err := io.ReadAll(r.Body)
	return wire{r.Method, requestURI(r), r.Header, body}, err
}

func (w wire) parts() FingerprintParts {
	return FingerprintParts{Method: w.method, URI: w.uri, Header: w.header, Body: w.body}
}

// equals compares two requests part by part, by the design's words. It is not
// known of numbers that are too large to be held against each other exactly.
func (w wire) equals(t *testing.T, v wire, rule Rule) (same, known bool) {
	if !strings.EqualFold(w.method, v.method) || w.uri != v.uri {
		return false, true
	}
	for _, name := range rule.Headers {
		name = http.CanonicalHeaderKey(name)
		if strings.Join(w.header[name], ", ") != strings.Join(v.header[name], ", ") {
			return false, true
		}
	}
	if bytes.Equal(w.body, v.body) {
		return true, true
	}
	if rule.Body == BodyRaw || !saysJSON(w.header) {
		return false, true
	}
	_, okW := canonicalJSON(w.body)
	_, okV := canonicalJSON(v.body)
	if !okW || !okV {
		return false, true
	}
	if hasHugeNumber(w.body) || hasHugeNumber(v.body) {
		return false, false
	}
	return sameJSON(t, w.body, v.body), true
}

func saysJSON(h http.Header) bool {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}

// hasHugeNumber reports whether a text has a number that sameNumber does not
// compare.
func hasHugeNumber(text []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if err != nil {
			return err != io.EOF
		}
		if n, ok := token.(json.Number); ok && slices.ContainsFunc([]string{"e", "E"}, func(e string) bool {
			_, exponent, found := strings.Cut(n.String(), e)
			return found && len(exponent) > 3
		}) {
			return true
		}
	}
}

// FuzzCanonicalPairs holds two JSON texts against each other: one canonical form
// for equal values, two for different ones.
func FuzzCanonicalPairs(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":2}`), []byte(`{"b":2,"a":1}`))
	f.Add([]byte(`[1.50]`), []byte(`[15e-1]`))
	f.Add([]byte(`"\u00e9"`), []byte(`"é"`))
	f.Add([]byte(`1`), []byte(`"1"`))
	f.Add([]byte(`[[],{}]`), []byte(`[[{}]]`))
	f.Add([]byte(`-0`), []byte(`0.000`))
	f.Add([]byte(`{"a":{"b":1}}`), []byte(`{"a":{},"b":1}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		canonicalA, okA := canonicalJSON(a)
		canonicalB, okB := canonicalJSON(b)
		if !okA || !okB || hasHugeNumber(a) || hasHugeNumber(b) {
			return
		}
		if same := sameJSON(t, a, b); same != bytes.Equal(canonicalA, canonicalB) {
			t.Fatalf("%q and %q are equal: %v; they became %q and %q", a, b, same, canonicalA, canonicalB)
		}
	})
}
