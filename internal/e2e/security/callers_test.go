package security_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/runtime"
)

// caller names whoever the header Caller says, percent-decoded.
func caller(r *http.Request) (string, error) {
	if len(r.Header["Caller"]) != 1 {
		return "", errors.New("no caller")
	}
	return url.PathUnescape(r.Header.Get("Caller"))
}

// A caller that the shop does not know gets 401 and nothing else, whatever its
// credentials look like.
func TestUnknownCallers(t *testing.T) {
	s := startShop(t)
	const rest = "Content-Type: application/json\r\nIdempotency-Key: k\r\nConnection: close\r\nContent-Length: 21\r\n\r\n" + `{"sku":"tea","qty":1}`
	for name, c := range map[string]struct {
		credentials string
		status      int
	}{
		"none":         {"", 401},
		"empty":        {"Authorization:\r\n", 401},
		"empty token":  {"Authorization: Bearer \r\n", 401},
		"other case":   {"Authorization: Bearer Alice\r\n", 401},
		"more":         {"Authorization: Bearer alice bob\r\n", 401},
		"high bytes":   {"Authorization: Bearer alice\xff\r\n", 401},
		"SQL":          {"Authorization: Bearer ' OR 1=1 --\r\n", 401},
		"100 kB":       {"Authorization: Bearer " + strings.Repeat("a", 100_000) + "\r\n", 401},
		"2 MB":         {"Authorization: Bearer " + strings.Repeat("a", 2_000_000) + "\r\n", 431},
		"NUL":          {"Authorization: Bearer alice\x00\r\n", 400},
		"bare CR":      {"Authorization: Bearer alice\rX: y\r\n", 400},
		"basic scheme": {"Authorization: Basic YWxpY2U6\r\n", 401},
	} {
		_, answers := raw(t, s.URL, "POST /v1/orders HTTP/1.1\r\nHost: shop\r\n"+c.credentials+rest)
		if len(answers) == 0 || answers[0].status != c.status {
			t.Errorf("%s: %+v, want %d", name, answers, c.status)
			continue
		}
		if c.status == 401 && (answers[0].header.Get("WWW-Authenticate") == "" || !strings.Contains(answers[0].body, `"unauthenticated"`)) {
			t.Errorf("%s: %+v", name, answers[0])
		}
	}
	if n := placed(t, s); n != 0 {
		t.Errorf("%d orders were placed", n)
	}
}

// Whatever an identity service calls its callers, each has keys of its own.
func TestCallersOfAnyName(t *testing.T) {
	g := guard(t, policy(), func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(url.PathEscape(runtime.Principal(r.Context()))))
	})
	names := []string{
		"a", "A", "a ", " a", "a\x00", "a\x00b", "\x00", "\n", "a\r\nb", "\xff", "\xff\xfe", "é", "e\u0301", "'; DROP TABLE idempotency_keys; --",
		"%", "_", "../b", "a/k", strings.Repeat("p", 255), strings.Repeat("p", 254) + "q", strings.Repeat("\xff", 255),
	}
	for _, name := range names {
		if a := g.send(t, url.PathEscape(name), "k", "{}"); a.status != 200 || a.body != url.PathEscape(name) || a.replayed() {
			t.Errorf("%q: first %+v", name, a)
		}
	}
	for _, name := range names {
		if a := g.send(t, url.PathEscape(name), "k", "{}"); a.status != 200 || a.body != url.PathEscape(name) || !a.replayed() {
			t.Errorf("%q: again %+v", name, a)
		}
	}
	if n := g.rows(t); n != int64(len(names)) {
		t.Errorf("%d rows of %d callers", n, len(names))
	}
}

// A name that cannot be kept apart from others is an error of the service, and
// leaves nothing.
func TestCallersWithoutAUsableName(t *testing.T) {
	runs := 0
	g := guard(t, policy(), func(http.ResponseWriter, *http.Request) { runs++ })
	for _, name := range []string{"", strings.Repeat("p", 256), strings.Repeat("p", 100_000), strings.Repeat("%00", 256)} {
		a := g.send(t, name, "k", "{}")
		if a.status != 500 || !strings.Contains(a.body, `"principal_invalid"`) || strings.Contains(a.body, "ppp") {
			t.Errorf("%.20q: %d %.200s", name, a.status, a.body)
		}
	}
	if n := g.rows(t); n != 0 || runs != 0 {
		t.Errorf("%d rows, %d runs", n, runs)
	}
}
