package runtime

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strings"
	"testing"
)

func TestCanonicalJSONEqual(t *testing.T) {
	for _, group := range [][]string{
		{`{"a":1,"b":2}`, ` { "b" : 2 , "a" : 1 } `, "{\"b\":2.0,\n\"a\":1e0}"},
		{`1500`, `1.5e3`, `15e2`, `1.500E+3`, `150000e-2`, `0.15e0000000000000000004`},
		{`0`, `-0`, `0.00`, `0e999999999999999`},
		{`-12.5`, `-125e-1`},
		{`"é/"`, `"\u00e9\/"`, `"\u00E9/"`},
		{`"😀"`, `"\ud83d\ude00"`},
		{`"\n"`, `"\u000a"`},
		{`[]`, `[ ]`},
		{`{}`, "{\t}"},
		{`{"x":{"b":[1,2],"a":null}}`, `{"x":{"a":null,"b":[1.0,2]}}`},
	} {
		want, ok := canonicalJSON([]byte(group[0]))
		if !ok {
			t.Errorf("%s has no canonical form", group[0])
		}
		for _, text := range group[1:] {
			if got, ok := canonicalJSON([]byte(text)); !ok || !bytes.Equal(got, want) {
				t.Errorf("%s became %s, but %s became %s", text, got, group[0], want)
			}
		}
		if again, ok := canonicalJSON(want); !ok || !bytes.Equal(again, want) {
			t.Errorf("the canonical form %s is not its own: %s", want, again)
		}
	}
}

func TestCanonicalJSONDiffers(t *testing.T) {
	for _, pair := range [][2]string{
		{`9007199254740993`, `9007199254740992`},
		{`1e400`, `1e401`},
		{`"1"`, `1`},
		{`[1,2]`, `[2,1]`},
		{`{"a":null}`, `{}`},
		{`1`, `-1`},
		{`"\u0000"`, `"\u0001"`},
	} {
		a, okA := canonicalJSON([]byte(pair[0]))
		b, okB := canonicalJSON([]byte(pair[1]))
		if !okA || !okB || bytes.Equal(a, b) {
			t.Errorf("%s and %s became %s and %s", pair[0], pair[1], a, b)
		}
	}
}

func TestCanonicalJSONRefuses(t *testing.T) {
	for _, text := range []string{
		``, ` `, `{`, `}`, `[1,]`, `[,1]`, `{"a":1,}`, `{"a"}`, `{a:1}`, `{"a":1,"a":1}`, `{"\u0061":1,"a":2}`,
		`01`, `-`, `1.`, `.5`, `1e`, `+1`, `tru`, `nulll`, `"`, `"\x"`, `"\ud800"`, `"\udc00\ud800"`, `"\ud800\u0041"`,
		"\"\xff\"", "\"\n\"", `1 2`, `{}{}`, `1e9999999999999999999`,
		strings.Repeat("[", maxJSONDepth+2) + strings.Repeat("]", maxJSONDepth+2),
	} {
		if got, ok := canonicalJSON([]byte(text)); ok {
			t.Errorf("%q became %s; want no canonical form", text, got)
		}
	}
}

// The canonical form holds the same value as the text, by the standard
// library's account of both.
func FuzzCanonicalJSON(f *testing.F) {
	for _, seed := range []string{`{"b":[1.50,null],"a":"\u00e9"}`, `1e999999999999`, `[[{"x":-0.0}]]`, `"\ud83d\ude00"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		canonical, ok := canonicalJSON(text)
		if !ok {
			return
		}
		if !json.Valid(text) || !json.Valid(canonical) {
			t.Fatalf("%q became %q, and not both are JSON", text, canonical)
		}
		if again, ok := canonicalJSON(canonical); !ok || !bytes.Equal(again, canonical) {
			t.Fatalf("%q is not its own canonical form: %q", canonical, again)
		}
		if !sameJSON(t, text, canonical) {
			t.Fatalf("%q became %q, another value", text, canonical)
		}
	})
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	return sameValue(t, decodeNumbers(t, a), decodeNumbers(t, b))
}

func decodeNumbers(t *testing.T, text []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

func sameValue(t *testing.T, a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, value := range a {
			other, ok := b[name]
			if !ok || !sameValue(t, value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !sameValue(t, a[i], b[i]) {
				return false
			}
		}
		return true
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(a, b)
	default:
		return a == b
	}
}

// sameNumber compares exactly where the exponent lets a big.Rat be built, and
// takes larger ones as equal.
func sameNumber(a, b json.Number) bool {
	for _, n := range []json.Number{a, b} {
		if _, exponent, found := strings.Cut(strings.ToLower(n.String()), "e"); found && len(exponent) > 3 {
			return true
		}
	}
	x, okX := new(big.Rat).SetString(a.String())
	y, okY := new(big.Rat).SetString(b.String())
	return okX && okY && x.Cmp(y) == 0
}
