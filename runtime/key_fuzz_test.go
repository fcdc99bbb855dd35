package runtime

import (
	"bufio"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// The rules for keys in another language.
var (
	rawKey = regexp.MustCompile(`^[\x20-\x7e]{1,255}$`)
	sfKey  = regexp.MustCompile(`^"(?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])+"$`)
	sfLine = regexp.MustCompile(`^ *("(?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])+")(?:; *[a-z*][a-z0-9_.*-]*(?:=(?:-?\d{1,15}|-?\d{1,12}\.\d{1,3}|` +
		`"(?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"|[A-Za-z*][A-Za-z0-9!#$%&'*+.^_|~:/\x60-]*|:[A-Za-z0-9+/=]*:|\?[01]))?)* *$`)
)

// FuzzKeyHeader sends key headers as bytes on the wire: a key is accepted
// exactly when it keeps the rules, and a refusal does not repeat it.
func FuzzKeyHeader(f *testing.F) {
	f.Add([]byte("Idempotency-Key: 8e03978e-40d5-43dd-bc93-6894a57f9324\r\n"), false)
	f.Add([]byte("Idempotency-Key: \"a\\\"b\\\\\"\r\n"), true)
	f.Add([]byte("Idempotency-Key: \"a\";b=?1; c=-1.5;d=:aA==:;e=*t/:\r\n"), true)
	f.Add([]byte("idempotency-key: a\r\nIdempotency-Key: b\r\n"), false)
	f.Add([]byte("Idempotency-Key:\r\n"), false)
	f.Add([]byte("Idempotency-Key: a\r\n b\r\n"), false)
	f.Add([]byte("Idempotency-Key: ../../etc/passwd'; DROP TABLE keys; --\r\n"), false)
	f.Add([]byte("Idempotency-Key: \xff\xfe\r\n"), false)
	f.Fuzz(func(t *testing.T, lines []byte, sf bool) {
		r, err := readRequest("POST / HTTP/1.1\r\nHost: a\r\n" + string(lines) + "\r\n")
		if err != nil {
			return
		}
		p := DefaultPolicy("POST /")
		if sf {
			p.KeySyntax = KeySF
		}
		key, err := p.key(r.Header)
		values := r.Header["Idempotency-Key"]
		sent := strings.Join(values, "\x00")
		if parts := sfLine.FindStringSubmatch(sent); sf && parts != nil {
			sent = parts[1]
		}
		want := len(values) == 1 && rawKey.MatchString(sent) && (!sf || sfKey.MatchString(sent))
		if (err == nil) != want || err == nil && key != sent {
			t.Fatalf("%q: key %q, %v; want it accepted: %v", values, key, err, want)
		}
		if err == nil {
			return
		}
		var refusal *Error
		if !errors.As(err, &refusal) || refusal.Status != 400 {
			t.Fatalf("%q: %v", values, err)
		}
		for _, value := range values {
			if len(value) > 12 && strings.Contains(err.Error(), value) {
				t.Fatalf("the refusal repeats the key: %v", err)
			}
		}
	})
}

// FuzzKey checks keys of callers without a transport, which may hold any byte.
func FuzzKey(f *testing.F) {
	for _, key := range []string{"", "a", `"a"`, `"\"`, `"\\"`, `"\a"`, `"a"b"`, "a\n", "é", strings.Repeat("k", 256)} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		raw := DefaultPolicy("POST /")
		sf := raw
		sf.KeySyntax = KeySF
		if got, want := raw.checkKey(key) == nil, rawKey.MatchString(key); got != want {
			t.Errorf("raw key %q: accepted %v, want %v", key, got, want)
		}
		if got, want := sf.checkKey(key) == nil, rawKey.MatchString(key) && sfKey.MatchString(key); got != want {
			t.Errorf("sf key %q: accepted %v, want %v", key, got, want)
		}
	})
}

// readRequest parses a request as a server does.
func readRequest(text string) (*http.Request, error) {
	return http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
}
