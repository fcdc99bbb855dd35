package runtime

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

// The digests were computed by an independent implementation of the rule.
func TestFingerprintVectors(t *testing.T) {
	text, err := os.ReadFile("testdata/fingerprint.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Name      string
		Allowlist []string
		Method    string
		URI       string `json:"path_and_query"`
		Headers   [][2]string
		Body      string `json:"body_base64"`
		SHA256    string
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) < 18 {
		t.Fatalf("%d vectors, want at least 18", len(vectors))
	}
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			body, err := base64.StdEncoding.DecodeString(v.Body)
			if err != nil {
				t.Fatal(err)
			}
			header := http.Header{}
			for _, field := range v.Headers {
				header.Add(field[0], field[1])
			}
			sum := Rule{Body: BodyRaw, Headers: v.Allowlist}.Fingerprint(FingerprintParts{
				Method: v.Method, URI: v.URI, Header: header, Body: body,
			})
			if got := hex.EncodeToString(sum[:]); got != v.SHA256 {
				t.Errorf("got %s, want %s", got, v.SHA256)
			}
		})
	}
}

func TestRequestURI(t *testing.T) {
	for line, want := range map[string]string{
		"/v1/a%2Fb?x=%2f&y":           "/v1/a%2Fb?x=%2f&y",
		"/v1/orders?":                 "/v1/orders?",
		"http://shop.example/v1/a?b":  "/v1/a?b",
		"http://shop.example":         "/",
		"http://shop.example?q=1":     "/?q=1",
		"https://u@shop.example:1/%7": "/%7",
		"http:///v1/a":                "/v1/a",
		"x:/v1/a?b=://shop.example/c": "/v1/a?b=://shop.example/c",
		"http://shop.example/a?b://c": "/a?b://c",
		"shop.example:443":            "shop.example:443",
		"mailto:x":                    "mailto:x",
	} {
		r := httptest.NewRequest("POST", "/other", nil)
		r.RequestURI = line
		if got := requestURI(r); got != want {
			t.Errorf("request line %q: got %q, want %q", line, got, want)
		}
	}
	r, err := http.NewRequest("POST", "http://shop.example/v1/a%2Fb?c=d", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := requestURI(r); got != "/v1/a%2Fb?c=d" {
		t.Errorf("in process: got %q", got)
	}
}

func TestFingerprintHost(t *testing.T) {
	rule := Rule{Body: BodyRaw, Headers: []string{"host"}}
	a := rule.Fingerprint(FingerprintParts{Method: "POST", URI: "/", Host: "a.example"})
	b := rule.Fingerprint(FingerprintParts{Method: "POST", URI: "/", Host: "b.example"})
	if a == b {
		t.Error("two hosts, one fingerprint")
	}
}

// body=json compares values; bodies that do not say that they are JSON, or have
// no canonical form, are compared by their bytes.
func TestFingerprintOfJSON(t *testing.T) {
	of := func(mode BodyMode, contentType, body string) [32]byte {
		return Rule{Body: mode}.Fingerprint(FingerprintParts{
			Method: "POST", URI: "/", Header: http.Header{"Content-Type": {contentType}}, Body: []byte(body),
		})
	}
	for _, c := range []struct {
		mode        BodyMode
		contentType string
		a, b        string
		same        bool
	}{
		{BodyJSON, "application/json", `{"a":1}`, ` { "a" : 1.0 } `, true},
		{BodyJSON, "application/merge-patch+json; charset=utf-8", `[1e2]`, `[100]`, true},
		{BodyJSON, "application/json", `{"a":1}`, `{"a":2}`, false},
		{BodyJSON, "application/json", `{"a":1,"a":1}`, `{"a":1, "a":1}`, false},
		{BodyJSON, "text/plain", `{"a":1}`, `{"a": 1}`, false},
		{BodyJSON, "", `{"a":1}`, `{"a": 1}`, false},
		{BodyRaw, "application/json", `{"a":1}`, `{"a": 1}`, false},
	} {
		if same := of(c.mode, c.contentType, c.a) == of(c.mode, c.contentType, c.b); same != c.same {
			t.Errorf("%s %q: %s and %s have one fingerprint: %v", c.mode, c.contentType, c.a, c.b, same)
		}
	}
}

func TestRuleText(t *testing.T) {
	for _, rule := range []Rule{
		{Body: BodyRaw},
		{Body: BodyJSON, Headers: []string{"content-type"}},
		{Body: BodyRaw, Headers: []string{"x-b", "x-a"}},
	} {
		got, err := ParseRule(rule.String())
		if err != nil || got.String() != rule.String() {
			t.Errorf("%q came back as %q, %v", rule, got, err)
		}
	}
	for _, text := range []string{"", "1", "2 raw", "1 xml", "1 raw X-Upper", "1 raw  a", "raw"} {
		if _, err := ParseRule(text); err == nil {
			t.Errorf("ParseRule(%q) succeeded", text)
		}
	}
}
