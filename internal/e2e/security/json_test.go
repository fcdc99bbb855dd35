package security_test

import (
	"fmt"
	"net/http"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/runtime"
)

// hostile are bodies of about n bytes that cost careless readers of JSON far
// more than that.
func hostile(n int) map[string]string {
	nest := func(open, inner, closing string) string {
		depth := n / (len(open) + len(closing))
		return strings.Repeat(open, depth) + inner + strings.Repeat(closing, depth)
	}
	members := func(f func(i int) string) string {
		var b strings.Builder
		b.WriteString("{")
		for i := 0; b.Len() < n; i++ {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString(f(i))
		}
		b.WriteString("}")
		return b.String()
	}
	// As deep as is read, with the largest member innermost: what is sorted is
	// copied at every level.
	copied := strings.Repeat(`{"b":0,"a":`, 120) + `"` + strings.Repeat("x", n) + `"` + strings.Repeat("}", 120)
	return map[string]string{
		"a large exponent":       `{"a":1e999999999}`,
		"a small exponent":       `{"a":1e-999999999}`,
		"an exponent of digits":  `{"a":1e` + strings.Repeat("9", n) + `}`,
		"many large exponents":   "[" + strings.Repeat("1e999999999,", n/12) + "1]",
		"a number of digits":     `{"a":` + strings.Repeat("9", n) + `}`,
		"a number of zeros":      `{"a":0.` + strings.Repeat("0", n) + `1}`,
		"deep arrays":            nest("[", "", "]"),
		"deep objects":           nest(`{"a":`, "1", "}"),
		"deep and never closed":  strings.Repeat("[", n),
		"deep and copied":        copied,
		"many members":           members(func(i int) string { return fmt.Sprintf(`"%d":0`, i) }),
		"many members backwards": members(func(i int) string { return fmt.Sprintf(`"%d":0`, n-i) }),
		"one member many times":  members(func(int) string { return `"a":0` }),
		"long common prefixes":   members(func(i int) string { return fmt.Sprintf(`"%s%d":0`, strings.Repeat("a", 1000), n-i) }),
		"escapes":                `"` + strings.Repeat(`\u0000`, n/6) + `"`,
		"broken surrogates":      `"` + strings.Repeat(`\ud800`, n/6) + `"`,
		"no UTF-8":               `"` + strings.Repeat("\xff", n) + `"`,
	}
}

// The fingerprint of a hostile body costs a small multiple of its size in
// memory, however deep it is nested.
func TestCanonicalFormIsBounded(t *testing.T) {
	const n = 1 << 20
	rule := runtime.Rule{Body: runtime.BodyJSON, Headers: []string{"content-type"}}
	for name, body := range hostile(n) {
		parts := runtime.FingerprintParts{
			Method: "POST", URI: "/", Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body),
		}
		var before, after goruntime.MemStats
		goruntime.GC()
		goruntime.ReadMemStats(&before)
		first := rule.Fingerprint(parts)
		goruntime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 40*n {
			t.Errorf("%s: %d bytes were taken for a body of %d", name, taken, len(body))
		}
		if again := rule.Fingerprint(parts); again != first {
			t.Errorf("%s: another fingerprint each time", name)
		}
	}
}

// Over HTTP each hostile body gets one documented answer, its retry a replay of
// that, and a different one under its key is told apart.
func TestHostileJSON(t *testing.T) {
	p := policy()
	p.Fingerprint.Body = runtime.BodyJSON
	runs := 0
	g := guard(t, p, func(w http.ResponseWriter, r *http.Request) { runs++ })
	const n = 100_000
	for name, body := range hostile(n) {
		runs = 0
		if a := g.send(t, "alice", name, body); a.status != 200 || runs != 1 {
			t.Errorf("%s: %d %.200s, %d runs", name, a.status, a.body, runs)
		}
		if a := g.send(t, "alice", name, body); !a.replayed() || runs != 1 {
			t.Errorf("%s, again: %d %.200s, %d runs", name, a.status, a.body, runs)
		}
		if a := g.send(t, "alice", name, body+" x"); a.status != 422 || runs != 1 {
			t.Errorf("%s, another: %d %.200s, %d runs", name, a.status, a.body, runs)
		}
	}
	if a := g.send(t, "alice", "large", strings.Repeat("[", 2<<20)); a.status != 413 {
		t.Errorf("2 MiB: %d", a.status)
	}
}

// Exponents are compared as what they are, without anybody writing the digits
// down.
func TestHugeExponentsAreCompared(t *testing.T) {
	p := policy()
	p.Fingerprint.Body = runtime.BodyJSON
	g := guard(t, p, func(w http.ResponseWriter, r *http.Request) {})
	g.send(t, "alice", "k", `{"a":1e999999999}`)
	for body, same := range map[string]bool{
		` { "a" : 10e999999998 } `: true, `{"a":0.1E+1000000000}`: true,
		`{"a":1e999999998}`: false, `{"a":1e-999999999}`: false, `{"a":-1e999999999}`: false, `{"a":"1e999999999"}`: false,
	} {
		if a := g.send(t, "alice", "k", body); a.replayed() != same {
			t.Errorf("%s: %+v", body, a)
		}
	}
}

// Typed endpoints decode with encoding/json, which has limits of its own: the
// shop refuses what it cannot read, and stays up.
func TestHostileJSONAtTheShop(t *testing.T) {
	s := startShop(t)
	for name, body := range hostile(50_000) {
		_, answers := raw(t, s.URL, post("Idempotency-Key: "+name+"\r\n", body))
		if len(answers) != 1 || answers[0].status != 400 && answers[0].status != 422 {
			t.Errorf("%s: %.300v", name, answers)
		}
	}
	for name, body := range map[string]string{
		"qty 1e999999999": `{"sku":"tea","qty":1e999999999}`, "qty of digits": `{"sku":"tea","qty":` + strings.Repeat("9", 1000) + `}`,
		"deep sku": `{"sku":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `,"qty":1}`,
	} {
		if _, answers := raw(t, s.URL, post("Idempotency-Key: "+name+"\r\n", body)); len(answers) != 1 || answers[0].status != 400 {
			t.Errorf("%s: %.300v", name, answers)
		}
	}
	if n := placed(t, s); n != 0 {
		t.Errorf("%d orders", n)
	}
	wantHealthy(t, s.URL)
}
