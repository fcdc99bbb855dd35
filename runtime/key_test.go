package runtime

import (
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
		{sf, `"a"`, true}, {sf, `""`, true}, {sf, `"a\"b\\"`, true},
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
