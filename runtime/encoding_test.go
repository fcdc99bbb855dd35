package runtime_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/memory"
)

func encoded(codings ...string) func(*http.Request) {
	return func(r *http.Request) { r.Header["Content-Encoding"] = codings }
}

// Nobody undoes an encoding, so that a body in one is refused by every shape
// and says what is taken.
func TestEncodedBodiesAreRefused(t *testing.T) {
	p := policy()
	p.KeyOptional = true
	handlers := shapes(t, p, bearer)
	handlers["typed"] = decoded(t, memory.New(), p)
	for shape, h := range handlers {
		for _, key := range []string{"k", ""} {
			for _, codings := range [][]string{{"gzip"}, {"GZIP"}, {"identity, br"}, {"identity", "x"}, {"gzip, gzip"}, {"aws-chunked"}} {
				w := do(h, request(key, "{}", encoded(codings...)))
				wantCode(t, w, 415, "unsupported_media_type")
				if got := w.Header().Get("Accept-Encoding"); got != "identity" {
					t.Errorf("%s: accepts %q", shape, got)
				}
			}
			for i, codings := range [][]string{{"identity"}, {""}, {"Identity, "}} {
				if w := do(h, request(key+fmt.Sprint(i), "{}", encoded(codings...))); w.Code/100 != 2 {
					t.Errorf("%s: %q: %d %s", shape, codings, w.Code, w.Body)
				}
			}
		}
	}
}

// An endpoint that says so is given the body as it came, and the same bytes in
// another encoding are another request. A decoder refuses them all the same.
func TestEncodedBodiesOnRequest(t *testing.T) {
	p := policy()
	p.Fingerprint.Headers = []string{"content-type", "content-encoding"}
	p.Encodings = []string{"gzip", "zstd"}
	for shape, h := range shapes(t, p, bearer) {
		first := do(h, request("k", "packed", encoded("gzip")))
		if first.Code != 200 || !strings.HasPrefix(first.Body.String(), "packed") {
			t.Fatalf("%s: %d %s", shape, first.Code, first.Body)
		}
		wantReplay(t, first, do(h, request("k", "packed", encoded("gzip"))))
		wantCode(t, do(h, request("k", "packed", encoded("zstd"))), 422, "idempotency_key_reused")
		wantCode(t, do(h, request("k", "packed")), 422, "idempotency_key_reused")
		w := do(h, request("l", "packed", encoded("gzip, br")))
		wantCode(t, w, 415, "unsupported_media_type")
		if got := w.Header().Get("Accept-Encoding"); got != "gzip, zstd, identity" {
			t.Errorf("%s: accepts %q", shape, got)
		}
	}
	wantCode(t, do(decoded(t, memory.New(), p), request("k", "{}", encoded("gzip"))), 415, "unsupported_media_type")
	p.Fingerprint.Headers = nil
	if problems := fmt.Sprint(p.Problems()); !strings.Contains(problems, "needs the header Content-Encoding in the fingerprint") {
		t.Errorf("without the header in the fingerprint: %s", problems)
	}
}

// The headers that make an answer safe are on the first answer and on replays,
// those of http.Error among them; one that is taken off the list is not sent
// from rows that have it.
func TestProtectiveHeadersAreKept(t *testing.T) {
	g := newRig(t)
	write := func(w http.ResponseWriter, r *http.Request) {
		for _, name := range runtime.ProtectiveHeaders() {
			w.Header().Set(name, "of "+name)
		}
		w.Header().Set("Location", "/x")
		if r.Header.Get("X-Fail") != "" {
			http.Error(w, "no such sku", 404)
			return
		}
		io.WriteString(w, "ok")
	}
	p := policy()
	p.Replay = runtime.DefaultPolicy("").Replay
	h := g.standard(p, write)
	first := do(h, request("k", "{}"))
	for _, name := range runtime.ProtectiveHeaders() {
		if first.Header().Get(name) != "of "+name {
			t.Errorf("%s is %q", name, first.Header().Get(name))
		}
	}
	wantReplay(t, first, do(h, request("k", "{}")))
	failing := func(r *http.Request) { r.Header.Set("X-Fail", "1") }
	failed := do(h, request("l", "{}", failing))
	if failed.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("http.Error: %v", failed.Header())
	}
	wantReplay(t, failed, do(h, request("l", "{}", failing)))

	p.Replay = slices.DeleteFunc(slices.Clone(p.Replay), func(name string) bool { return name == "Location" || name == "X-Frame-Options" })
	w := do(g.standard(p, write), request("k", "{}"))
	if w.Header().Get("Location") != "" || w.Header().Get("X-Frame-Options") != "" || w.Header().Get("Cache-Control") == "" || w.Body.String() != "ok" {
		t.Errorf("after two were taken off the list: %v %s", w.Header(), w.Body)
	}
	// Error answers keep what belongs to them, whatever is listed.
	p.Replay = nil
	busy := g.server.Handle(p, orders, func(*runtime.Request) (runtime.Work, error) {
		return failWith(&runtime.Error{Status: 404, Code: "later", RetryAfter: 7e9}), nil
	})
	first = do(busy, request("m", "{}"))
	if first.Header().Get("Retry-After") != "7" {
		t.Errorf("%v", first.Header())
	}
	wantReplay(t, first, do(busy, request("m", "{}")))
}
