package security_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// What a database could not keep is refused before it costs a key: lengths,
// control characters and characters that a character set lacks.
func TestShopRefusesWhatItCannotKeep(t *testing.T) {
	s := startShop(t)
	for name, body := range map[string]string{
		"a long sku":               `{"sku":"` + strings.Repeat("t", 300) + `","qty":1}`,
		"a NUL":                    `{"sku":"te\u0000a","qty":1}`,
		"an emoji":                 `{"sku":"🍵","qty":1}`,
		"a letter of another":      `{"sku":"thé","qty":1}`,
		"a line":                   `{"sku":"te\na","qty":1}`,
		"an amount that overflows": `{"sku":"tea","qty":9223372036854775807}`,
	} {
		_, answers := raw(t, s.URL, post("Idempotency-Key: k\r\n", body))
		if len(answers) != 1 || answers[0].status != 422 {
			t.Errorf("%s: %+v", name, answers)
		}
	}
	if _, answers := raw(t, s.URL, post("Idempotency-Key: k\r\n", order)); len(answers) != 1 || answers[0].status != 201 {
		t.Errorf("the key is not free: %+v", answers)
	}
	if n := placed(t, s); n != 1 {
		t.Errorf("%d orders", n)
	}
}

// What no endpoint answers has the form of all other errors, and a path tells
// of all its methods.
func TestShopAnswersWhereNothingIs(t *testing.T) {
	s := startShop(t)
	for _, c := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"OPTIONS", "/v1/orders", 204, "GET, HEAD, POST"},
		{"DELETE", "/v1/orders", 405, "GET, HEAD, POST"},
		{"GET", "/v1/orders/7/cancel", 405, "POST"},
		{"OPTIONS", "/v1/orders/7/receipt", 204, "PUT"},
		{"GET", "/v1/nothing", 404, ""},
		{"POST", "/", 404, ""},
		{"GET", "/v1/orders", 401, ""},
	} {
		r, err := http.NewRequest(c.method, s.URL+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != c.status || response.Header.Get("Allow") != c.allow {
			t.Errorf("%s %s: %d, Allow %q, %v", c.method, c.path, response.StatusCode, response.Header.Get("Allow"), err)
		}
		var problem struct {
			Type, Title string
			Status      int
		}
		if c.status == 204 {
			continue
		}
		if err := json.Unmarshal(body, &problem); err != nil || problem.Status != c.status || problem.Title == "" ||
			response.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %s %s, %v", c.method, c.path, response.Header.Get("Content-Type"), body, err)
		}
	}
}
