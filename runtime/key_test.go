package runtime

import (
	"net/http"
	"strings"
	"testing"
)

func TestCheckKey(t *testing.T) {
	raw := DefaultPolicy("POST /x")
	sf := raw
	sf.KeySyntax = KeySF
	short := raw
	short.KeyMax = 4
	for _, c := range []struct {
		policy Policy
		key    string
		ok     bool
	}{
		{raw, "a", true}, {raw, strings.Repeat("k", 255), true}, {raw, " ~", true}, {raw, "../../etc'; --", true},
		{raw, "", false}, {raw, strings.Repeat("k", 256), false}, {raw, "a\x7f", false}, {raw, "a\x1f", false}, {raw, "é", false},
		{short, "abcd", true}, {short, "abcde", false},
		{sf, `"a"`, true}, {sf, `""`, false}, {sf, `"a\"b\\"`, true},
		{sf, `a`, false}, {sf, `"`, false}, {sf, `"a"b"`, false}, {sf, `"a\b"`, false}, {sf, `"a\"`, false}, {sf, `"a";p`, false},
	} {
		if err := c.policy.checkKey(c.key); (err == nil) != c.ok {
			t.Errorf("%s key %q: %v", c.policy.KeySyntax, c.key, err)
		}
	}
}

func TestKeyErrorsKeepTheKey(t *testing.T) {
	p := DefaultPolicy("POST /x")
	err := p.checkKey("secret-\x01")
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

// A key on the wire is an item, whose parameters say nothing: with and without
// them it is one key.
func TestKeyWithParameters(t *testing.T) {
	sf := DefaultPolicy("POST /x")
	sf.KeySyntax = KeySF
	sf.KeyMax = 6
	for line, want := range map[string]string{
		`"abc"`: `"abc"`, ` "abc" `: `"abc"`, `"abc";p`: `"abc"`, `"abc";p=1;  q="x\";\"y";*a.b-c_9=?0`: `"abc"`,
		`"abc";a=-12.345;b=tok/en:*;c=:aGk=:;d=999999999999999;e=?1`: `"abc"`, `"a\"b";p`: `"a\"b"`,
		`"";p`: "", `""`: "", `"abcde";p`: "", // too long
		`"abc" ;p`: "", `"abc";`: "", `"abc";P`: "", `"abc";p=`: "", `"abc";p=?2`: "", `"abc";p=:a`: "", `"abc";p=1.`: "", `"abc";p=1.2345`: "",
		`"abc";p=1234567890123456`: "", `"abc";p=1234567890123.1`: "", `"abc";p=-`: "", `"abc";p="x`: "", `"abc";p=(a)`: "", `"abc", "d"`: "",
		`"abc"x`: "", `abc;p`: "", `:YWJj:`: "", `"abc";9=1`: "", "\"abc\";p=\x01": "", `"abc";;p`: "", `"abc"; p`: `"abc"`,
	} {
		key, err := sf.key(http.Header{"Idempotency-Key": {line}})
		if (err == nil) != (want != "") || err == nil && key != want {
			t.Errorf("%s: %q, %v; want %q", line, key, err, want)
		}
	}
	raw := DefaultPolicy("POST /x")
	if key, err := raw.key(http.Header{"Idempotency-Key": {`"abc";p`}}); err != nil || key != `"abc";p` {
		t.Errorf("raw: %q, %v", key, err)
	}
}
