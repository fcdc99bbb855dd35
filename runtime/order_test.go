package runtime_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/runtime"
)

// The steps of a request come in the order that the design fixes: each case
// breaks one rule and every rule after it.
func TestOrder(t *testing.T) {
	denied := errors.New("no longer a customer")
	g := newRig(t, runtime.WithAuthorize(func(r *http.Request, principal, operation string) error {
		if r.Header.Get("X-Denied") != "" {
			return denied
		}
		return nil
	}))
	p := policy()
	p.RequestMax = 8
	h := g.server.Handle(p, orders, func(r *runtime.Request) (runtime.Work, error) {
		if strings.Contains(string(r.Body), "bad") {
			return nil, &runtime.Error{Status: 422, Code: "order_bad", Message: "bad"}
		}
		return created, nil
	})
	deny := func(r *http.Request) { r.Header.Set("X-Denied", "1") }
	anonymous := func(r *http.Request) { r.Header.Del("Authorization") }
	twoKeys := func(r *http.Request) { r.Header.Add("Idempotency-Key", "l") }
	for _, c := range []struct {
		name    string
		request *http.Request
		status  int
		code    string
	}{
		{"principal", request("", "bad bad bad", anonymous, deny, twoKeys), 401, "unauthenticated"},
		{"rights", request("", "bad bad bad", deny, twoKeys), 403, "forbidden"},
		{"key missing", request("", "bad bad bad"), 400, "idempotency_key_required"},
		{"key twice", request("k", "bad bad bad", twoKeys), 400, "idempotency_key_invalid"},
		{"key empty", request("k", "bad bad bad", func(r *http.Request) { r.Header["Idempotency-Key"] = []string{""} }), 400, "idempotency_key_invalid"},
		{"key long", request(strings.Repeat("k", 256), "bad bad bad"), 400, "idempotency_key_invalid"},
		{"body long", request("k", "bad bad bad"), 413, "request_body_too_large"},
		{"body long, length unknown", request("k", "bad bad bad", func(r *http.Request) { r.ContentLength = -1 }), 413, "request_body_too_large"},
		{"body broken", request("k", "", func(r *http.Request) { r.Body = io.NopCloser(brokenReader{}) }), 400, "request_body_unreadable"},
		{"body broken, length unknown", request("k", "", func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(brokenReader{}), -1 }), 400, "request_body_unreadable"},
		{"decoding", request("k", "bad"), 422, "order_bad"},
	} {
		t.Run(c.name, func(t *testing.T) { wantCode(t, do(h, c.request), c.status, c.code) })
	}
	if w := do(h, request("", "", anonymous)); w.Header().Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("401 with WWW-Authenticate %q", w.Header().Get("WWW-Authenticate"))
	}
	if w := do(h, request("k", "good")); w.Code != 201 {
		t.Errorf("after the refusals, none of which may be stored: %d %s", w.Code, w.Body)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("reset") }
