package runtime_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/memory"
)

type line struct {
	Qty int      `json:"qty"`
	Tag []string `json:"-"`
	Ver *string  `json:"-"`
	N   int      `json:"-"`
}

// decoded is an endpoint whose decoder is like a generated one. Its answer is
// what it read.
func decoded(t *testing.T, ledger runtime.Ledger, p runtime.Policy) http.Handler {
	t.Helper()
	s, err := runtime.NewServer(ledger, bearer, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	return s.Handle(p, orders, func(r *runtime.Request) (runtime.Work, error) {
		var in line
		d := r.Decode()
		d.JSON(&in)
		in.Tag = runtime.HeaderList(d, "X-Tag", runtime.ParseString[string])
		in.Ver = runtime.HeaderPointer(d, "X-Version", runtime.ParseString[string])
		in.N = runtime.QueryValue(d, "amount", runtime.ParseInt[int])
		return func(context.Context) (*runtime.Response, error) {
			return &runtime.Response{Body: fmt.Appendf(nil, "%d %q %v %d", in.Qty, in.Tag, in.Ver != nil, in.N)}, nil
		}, d.Err()
	})
}

func tagged() runtime.Policy {
	p := policy()
	p.Fingerprint.Headers = []string{"content-type", "x-tag", "x-version"}
	return p
}

// Bodies that decode to what their order says are refused under both body
// modes; nothing runs, and the key is free for the corrected request.
func TestAmbiguousBodiesAreRefused(t *testing.T) {
	for _, mode := range []runtime.BodyMode{runtime.BodyRaw, runtime.BodyJSON} {
		p := policy()
		p.Fingerprint.Body = mode
		h := decoded(t, memory.New(), p)
		for _, body := range []string{`{"qty":1,"QTY":100}`, `{"QTY":100,"qty":1}`, `{"qty":1,"qty":100}`} {
			w := do(h, request("k", body))
			wantCode(t, w, 400, "request_invalid")
			if !strings.Contains(w.Body.String(), `"pointer":"/qty"`) {
				t.Errorf("%s: %s", body, w.Body)
			}
		}
		if w := do(h, request("k", `{"qty":1}`)); w.Code != 201 {
			t.Errorf("corrected: %d %s", w.Code, w.Body)
		}
		// A row that stands says more than the refusal.
		wantCode(t, do(h, request("k", `{"qty":1,"QTY":100}`)), 422, "idempotency_key_reused")
	}
}

// Where nobody has decoded the body, a canonical form that loses the order of
// names that are alike does not stand for it; without one all is compared.
func TestAlikeNamesWithoutADecoder(t *testing.T) {
	for _, mode := range []runtime.BodyMode{runtime.BodyRaw, runtime.BodyJSON} {
		p := policy()
		p.Fingerprint.Body = mode
		for shape, h := range shapes(t, p, bearer) {
			for i, c := range []struct {
				body    string
				refused bool
			}{
				{`{"qty":1,"QTY":100}`, mode == runtime.BodyJSON},
				{`{"a":[{"qty":1,"QTY":100}]}`, mode == runtime.BodyJSON},
				{`{"qty":1,"qty":100}`, false}, // no canonical form: compared as it is
				{`{"qty":1,"sku":"QTY"}`, false},
				{`{"qty":1`, false},
			} {
				w := do(h, request(fmt.Sprint("k", i), c.body))
				if c.refused {
					wantCode(t, w, 400, "request_invalid")
				} else if w.Code != 200 {
					t.Errorf("%s, %s, %s: %d %s", mode, shape, c.body, w.Code, w.Body)
				}
			}
			form := func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }
			if w := do(h, request("t", `{"qty":1,"QTY":100}`, form)); w.Code != 200 {
				t.Errorf("text: %d %s", w.Code, w.Body)
			}
		}
	}
}

// A query of which a part would be left out is refused, and not read as if it
// were shorter.
func TestMalformedQueries(t *testing.T) {
	at := func(query string) func(*http.Request) {
		return func(r *http.Request) {
			r.RequestURI = "/v1/orders?" + query
			r.URL.RawQuery = query
		}
	}
	raw := shapes(t, policy(), bearer)["raw"]
	h := decoded(t, memory.New(), policy())
	for _, query := range []string{"amount=5;note=x", "amount=%zz", "amount=5&%", "%=1", "a;b"} {
		wantCode(t, do(h, request("k", `{}`, at(query))), 400, "request_invalid")
		wantCode(t, do(raw, request("k", `{}`, at(query))), 400, "request_invalid")
	}
	if w := do(h, request("k", `{}`, at("amount=5&note=x%3by"))); w.Code != 201 || !strings.HasSuffix(w.Body.String(), " 5") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	wantCode(t, do(h, request("k", `{}`, at("amount=5;note=x"))), 422, "idempotency_key_reused")
	// What is decoded is what was compared, whatever a middleware made of it.
	changed := func(r *http.Request) { at("amount=6")(r); r.URL.RawQuery = "amount=600" }
	if w := do(h, request("l", `{}`, changed)); w.Code != 201 || !strings.HasSuffix(w.Body.String(), " 6") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// Headers that are compared as equal are decoded as equal, in every shape.
func TestHeadersAreSeenAsTheyAreCompared(t *testing.T) {
	line := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) {
			delete(r.Header, name)
			if values != nil {
				r.Header[name] = values
			}
		}
	}
	groups := [][]func(*http.Request){
		{line("X-Tag", "a", "b"), line("X-Tag", "a, b")},
		{line("X-Tag", "a, b", `"c, d"`), line("X-Tag", `a, b, "c, d"`), line("X-Tag", "a", `b, "c, d"`)},
		{line("X-Version", ""), line("X-Version")},
		{line("X-Tag", ""), line("X-Tag")},
	}
	see := func(w http.ResponseWriter, r *http.Request) {
		for _, name := range slices.Sorted(maps.Keys(r.Header)) {
			if strings.HasPrefix(name, "X-") {
				fmt.Fprintf(w, "%s: %q\n", name, r.Header[name])
			}
		}
	}
	serve := map[string]func() http.Handler{
		"typed": func() http.Handler { return decoded(t, memory.New(), tagged()) },
		"raw": func() http.Handler {
			s, err := runtime.NewServer(memory.New(), bearer, quiet)
			if err != nil {
				t.Fatal(err)
			}
			return s.Handle(tagged(), orders, func(r *runtime.Request) (runtime.Work, error) {
				return func(context.Context) (*runtime.Response, error) {
					w := httptest.NewRecorder()
					see(w, &http.Request{Header: r.Header})
					return &runtime.Response{Body: w.Body.Bytes()}, nil
				}, nil
			})
		},
		"standard": func() http.Handler {
			s, err := runtime.NewServer(memory.New(), bearer, quiet)
			if err != nil {
				t.Fatal(err)
			}
			return s.HandleFunc(tagged(), orders, see)
		},
		"middleware": func() http.Handler {
			m, err := runtime.NewMiddleware(tagged(), memory.New(), bearer, quiet)
			if err != nil {
				t.Fatal(err)
			}
			return m.Wrap(http.HandlerFunc(see))
		},
	}
	for shape, start := range serve {
		for i, group := range groups {
			var answers []string
			for _, form := range group {
				// A ledger for each form shows what the handler makes of it.
				w := do(start(), request("k", `{"qty":1}`, form))
				if w.Code != 200 && w.Code != 201 {
					t.Fatalf("%s, group %d: %d %s", shape, i, w.Code, w.Body)
				}
				answers = append(answers, w.Body.String())
			}
			if len(slices.Compact(answers)) != 1 {
				t.Errorf("%s, group %d: requests that are compared as equal gave %q", shape, i, answers)
			}
			h := start()
			first := do(h, request("k", `{"qty":1}`, group[0]))
			for _, form := range group[1:] {
				wantReplay(t, first, do(h, request("k", `{"qty":1}`, form)))
			}
		}
	}
}

// A method in lower case is another method, although the digest of rows that
// stand takes it for the same.
func TestMethodsAreCaseSensitive(t *testing.T) {
	lower := func(r *http.Request) { r.Method = "post" }
	for shape, h := range shapes(t, policy(), bearer) {
		wantCode(t, do(h, request("k", "{}", lower)), 400, "request_invalid")
		first := do(h, request("k", "{}"))
		if first.Code != 200 {
			t.Fatalf("%s: %d %s", shape, first.Code, first.Body)
		}
		wantCode(t, do(h, request("k", "{}", lower)), 422, "idempotency_key_reused")
		wantReplay(t, first, do(h, request("k", "{}")))
	}
}

// Two types of one body are none.
func TestTwoContentTypes(t *testing.T) {
	handlers := shapes(t, policy(), bearer)
	handlers["typed"] = decoded(t, memory.New(), policy())
	for shape, h := range handlers {
		two := func(r *http.Request) { r.Header["Content-Type"] = []string{"application/json", "text/plain"} }
		wantCode(t, do(h, request("k", "{}", two)), 400, "request_invalid")
		same := func(r *http.Request) { r.Header["Content-Type"] = []string{"application/json", "application/json"} }
		if w := do(h, request("k", "{}", same)); w.Code/100 != 2 {
			t.Errorf("%s: one type twice: %d %s", shape, w.Code, w.Body)
		}
	}
}

// A guarded handler is not told which encodings its first caller takes: its
// answer is kept for others. Without a key nothing is kept.
func TestAcceptEncodingIsNotSeen(t *testing.T) {
	p := policy()
	p.KeyOptional = true
	see := func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "accepts "+r.Header.Get("Accept-Encoding"))
	}
	gzip := func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") }
	g := newRig(t)
	h := g.standard(p, see)
	if w := do(h, request("k", "{}", gzip)); w.Body.String() != "accepts " {
		t.Errorf("with a key: %s", w.Body)
	}
	if w := do(h, request("", "{}", gzip)); w.Body.String() != "accepts gzip" {
		t.Errorf("without a key: %s", w.Body)
	}
}
