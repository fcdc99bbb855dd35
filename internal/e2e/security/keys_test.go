package security_test

import (
	"fmt"
	"strings"
	"testing"
)

// oddKeys mean something to a file system, a database, a template, a log or a
// shell; to the ledger they are bytes.
var oddKeys = []string{
	"../../../../etc/passwd", "..\\..\\windows", "/", ".", "%2e%2e%2f", "file:///etc/passwd", "C:\\", "~root",
	"'; DROP TABLE idempotency_keys; --", "' OR '1'='1", "\" OR 1=1 --", "1); DELETE FROM orders; --", "x' UNION SELECT * FROM orders --", "%", "_", "a%b", "\\", "\\'", "''", "$1", "?1", ":name", "@p",
	"%s%n%x%d", "%!d(string=x)", "{{.}}", "${jndi:ldap://localhost/a}", "$(id)", "`id`", "; rm -rf /", "| cat", "&& true",
	"<script>alert(1)</script>", "k\" level=ERROR msg=\"forged", "key=value", "=1+1", "NULL", "null", "true", "0", "-1", "NaN",
	"key", "KEY", "Key", "k k", strings.Repeat("'", 255), strings.Repeat("\\", 255), strings.Repeat("%", 255),
}

// Each odd key places one order, and only one, under whatever other keys there
// are.
func TestOddKeys(t *testing.T) {
	s := startShop(t)
	first := map[string]string{}
	for round := range 2 {
		for i, key := range oddKeys {
			body := fmt.Sprintf(`{"sku":"tea","qty":%d}`, i+1)
			_, answers := raw(t, s.URL, post("Idempotency-Key: "+key+"\r\n", body))
			if len(answers) != 1 || answers[0].status != 201 {
				t.Fatalf("key %q: %+v", key, answers)
			}
			if round == 0 {
				first[key] = answers[0].body
			} else if !answers[0].replayed() || answers[0].body != first[key] {
				t.Errorf("key %q: %+v, first %s", key, answers[0], first[key])
			}
		}
	}
	if n := placed(t, s); n != len(oddKeys) {
		t.Errorf("%d orders under %d keys", n, len(oddKeys))
	}
}

// What is no key is refused before anything is stored.
func TestNoKeys(t *testing.T) {
	s := startShop(t)
	for name, lines := range map[string]string{
		"none":                "",
		"empty":               "Idempotency-Key:\r\n",
		"blank":               "Idempotency-Key: \t \r\n",
		"two":                 "Idempotency-Key: a\r\nidempotency-key: a\r\n",
		"long":                "Idempotency-Key: " + strings.Repeat("k", 256) + "\r\n",
		"100 kB":              "Idempotency-Key: " + strings.Repeat("k", 100_000) + "\r\n",
		"tab":                 "Idempotency-Key: a\tb\r\n",
		"high byte":           "Idempotency-Key: a\x80\r\n",
		"UTF-8":               "Idempotency-Key: \u00e9\r\n",
		"NUL":                 "Idempotency-Key: a\x00b\r\n",
		"bare CR":             "Idempotency-Key: a\rb\r\n",
		"escape":              "Idempotency-Key: \x1b[31mred\r\n",
		"DEL":                 "Idempotency-Key: \x7f\r\n",
		"space in the name":   "Idempotency-Key : a\r\n",
		"another name":        "Idempotency_Key: a\r\n",
		"colon before a name": ":Idempotency-Key: a\r\n",
	} {
		_, answers := raw(t, s.URL, post(lines, `{"sku":"tea","qty":1}`))
		if len(answers) != 1 || answers[0].status != 400 {
			t.Errorf("%s: %+v, want 400", name, answers)
		}
	}
	if n := placed(t, s); n != 0 {
		t.Errorf("%d orders were placed", n)
	}
}
