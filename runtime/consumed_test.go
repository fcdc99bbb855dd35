package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/memory"
)

// shapes serve one endpoint in every shape that the engine has without a
// database. The handler answers with what it read.
func shapes(t *testing.T, p runtime.Policy, principal runtime.PrincipalFunc, opts ...runtime.Option) map[string]http.Handler {
	t.Helper()
	server := func() *runtime.Server {
		s, err := runtime.NewServer(memory.New(), principal, append([]runtime.Option{quiet}, opts...)...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close(context.Background()) })
		return s
	}
	echo := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %v", body, err)
	}
	raw := func(r *runtime.Request) (runtime.Work, error) {
		return func(context.Context) (*runtime.Response, error) {
			return &runtime.Response{Body: append(r.Body, " <nil>"...)}, nil
		}, nil
	}
	m, err := runtime.NewMiddleware(p, memory.New(), principal, append([]runtime.Option{quiet}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close(context.Background()) })
	return map[string]http.Handler{
		"raw":        server().Handle(p, runtime.Route{Method: "POST", Pattern: "/v1/orders"}, raw),
		"standard":   server().HandleFunc(p, runtime.Route{Method: "POST", Pattern: "/v1/orders"}, echo),
		"middleware": m.Wrap(http.HandlerFunc(echo)),
	}
}

func form(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }

// apiKey names the caller by a field of the form, as APIs for browsers do.
func apiKey(r *http.Request) (string, error) {
	if key := r.FormValue("api_key"); key != "" {
		return key, nil
	}
	return "", errors.New("no api_key")
}

// What the functions that name a caller and check its rights read of the body
// is part of the fingerprint, and of what the handler reads.
func TestBodyIsTakenBeforeUserCode(t *testing.T) {
	readAll := runtime.WithAuthorize(func(r *http.Request, _, _ string) error {
		if body, err := io.ReadAll(r.Body); err != nil || len(body) == 0 {
			return fmt.Errorf("authorize read %q, %v", body, err)
		}
		return nil
	})
	for shape, h := range shapes(t, policy(), apiKey, readAll) {
		t.Run(shape, func(t *testing.T) {
			const body = "api_key=alice&amount=5"
			first := do(h, request("k", body, form))
			if first.Code != 200 || first.Body.String() != body+" <nil>" {
				t.Fatalf("%d %s", first.Code, first.Body)
			}
			wantReplay(t, first, do(h, request("k", body, form)))
			wantCode(t, do(h, request("k", "api_key=alice&amount=500", form)), 422, "idempotency_key_reused")
			wantCode(t, do(h, request("k", "amount=5", form)), 401, "unauthenticated")
			unknown := func(r *http.Request) { r.ContentLength = -1 }
			wantCode(t, do(h, request("k", "api_key=alice&amount=50", form, unknown)), 422, "idempotency_key_reused")
			wantReplay(t, first, do(h, request("k", body, form, unknown)))
		})
	}
}

// A body that the caller's name stands in and that cannot be read is not a
// wrong name.
func TestBrokenBodyIsNotAWrongName(t *testing.T) {
	p := policy()
	p.RequestMax = 8
	for shape, h := range shapes(t, p, apiKey) {
		wantCode(t, do(h, request("k", "api_key=alice", form)), 413, "request_body_too_large")
		broken := func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(brokenReader{}), 7 }
		wantCode(t, do(h, request("k", "", form, broken)), 400, "request_body_unreadable")
		if t.Failed() {
			t.Fatal(shape)
		}
	}
}

// A body that somebody before us has read is refused by every shape: nothing
// runs, not even the functions that name the caller.
func TestConsumedBodyIsRefused(t *testing.T) {
	read := func(n int64) func(*http.Request) {
		return func(r *http.Request) { io.CopyN(io.Discard, r.Body, n) }
	}
	unknown := func(f func(*http.Request)) func(*http.Request) {
		return func(r *http.Request) { r.ContentLength = -1; f(r) }
	}
	uploads, uploadType := upload(t, 100)
	multi := func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(uploads)), int64(len(uploads))
		r.Header.Set("Content-Type", uploadType)
	}
	long := strings.Repeat("amount=5&", 1000)
	for name, c := range map[string]struct {
		body   string
		before func(*http.Request)
	}{
		"a form, parsed":                  {"amount=5", func(r *http.Request) { form(r); r.ParseForm() }},
		"a form, one value":               {"amount=5", func(r *http.Request) { form(r); r.FormValue("amount") }},
		"a form of unknown length":        {"amount=5", unknown(func(r *http.Request) { form(r); r.PostFormValue("amount") })},
		"a long form":                     {long, func(r *http.Request) { form(r); r.ParseForm() }},
		"a multipart form":                {"", func(r *http.Request) { multi(r); r.ParseMultipartForm(1 << 20) }},
		"a multipart form, in part":       {"", func(r *http.Request) { multi(r); part(r) }},
		"a multipart form of no length":   {"", unknown(func(r *http.Request) { multi(r); r.ContentLength = -1; part(r) })},
		"JSON, a byte":                    {`{"qty":1}`, read(1)},
		"JSON, all":                       {`{"qty":1}`, read(9)},
		"JSON of unknown length, all":     {`{"qty":1}`, unknown(read(9))},
		"a long body, in part":            {long, read(5000)},
		"taken away":                      {`{"qty":1}`, func(r *http.Request) { r.Body = http.NoBody }},
		"taken away without a trace":      {`{"qty":1}`, func(r *http.Request) { r.Body = nil }},
		"replaced by one that is shorter": {`{"qty":1}`, func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("{}")) }},
		"closed":                          {`{"qty":1}`, func(r *http.Request) { r.Body = closedBody{} }},
	} {
		log := &logBuffer{}
		principal := func(*http.Request) (string, error) {
			t.Errorf("%s: the caller was named", name)
			return "alice", nil
		}
		for shape, h := range shapes(t, policy(), principal, logTo(log)) {
			t.Run(name+"/"+shape, func(t *testing.T) {
				wantCode(t, do(h, request("k", c.body, c.before)), 500, "request_body_consumed")
				if !strings.Contains(log.String(), "request_body_consumed") {
					t.Errorf("the log says %q", log)
				}
			})
		}
	}
}

// Who reads a body and puts it back does no harm.
func TestBodyThatWasPutBack(t *testing.T) {
	for shape, h := range shapes(t, policy(), bearer) {
		put := func(r *http.Request) {
			body := readAll(t, r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			r.ParseForm()
			r.Form.Set("amount", "7")
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		first := do(h, request("k", "amount=5", form, put))
		if first.Code != 200 || first.Body.String() != "amount=5 <nil>" {
			t.Errorf("%s: %d %s", shape, first.Code, first.Body)
		}
		wantReplay(t, first, do(h, request("k", "amount=5", form)))
		empty := func(r *http.Request) { r.Header.Del("Content-Type"); r.ContentLength = -1 }
		if w := do(h, request("l", "", empty)); w.Code != 200 {
			t.Errorf("%s: an empty body of unknown length: %d %s", shape, w.Code, w.Body)
		}
	}
}

// The limit of an http.MaxBytesHandler in front is a limit too, with its own
// number.
func TestOuterLimit(t *testing.T) {
	for shape, h := range shapes(t, policy(), bearer) {
		for _, size := range []int{101, 5000} {
			for _, length := range []int64{int64(size), -1} {
				w := do(http.MaxBytesHandler(h, 100), request("k", strings.Repeat("x", size), func(r *http.Request) { r.ContentLength = length }))
				wantCode(t, w, 413, "request_body_too_large")
				if !strings.Contains(w.Body.String(), "larger than 100 bytes") {
					t.Errorf("%s: %s", shape, w.Body)
				}
			}
		}
		if w := do(http.MaxBytesHandler(h, 100), request("k", strings.Repeat("x", 100))); w.Code != 200 {
			t.Errorf("%s: a body of the limit: %d %s", shape, w.Code, w.Body)
		}
	}
}

// wrapped is a ResponseWriter as middleware makes them.
type wrapped struct{ http.ResponseWriter }

func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Clients that still send when their body is refused get the answer, and not a
// reset connection.
func TestRefusedBodyIsAnswered(t *testing.T) {
	handlers := shapes(t, policy(), bearer)
	handlers["behind middleware"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers["raw"].ServeHTTP(wrapped{w}, r)
	})
	for shape, h := range handlers {
		s := httptest.NewServer(h)
		var wg sync.WaitGroup
		// net/http waits half a second for a client to take notice, so that not
		// too many may want the machine at once.
		turns := make(chan bool, 2)
		for i := range 24 {
			wg.Go(func() {
				turns <- true
				defer func() { <-turns }()
				body := bytes.Repeat([]byte("x"), (2+6*(i%2))<<20)
				r, err := http.NewRequest("POST", s.URL+"/v1/orders", bytes.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				r.Header.Set("Authorization", "Bearer alice")
				r.Header.Set("Idempotency-Key", "k")
				r.Close = i%4 < 2 // then net/http does not look at what is left
				response, err := s.Client().Do(r)
				if err != nil {
					t.Errorf("%s: %v", shape, err)
					return
				}
				defer response.Body.Close()
				if text, err := io.ReadAll(response.Body); response.StatusCode != 413 || err != nil || !strings.Contains(string(text), "request_body_too_large") {
					t.Errorf("%s: %d %s, %v", shape, response.StatusCode, text, err)
				}
			})
		}
		wg.Wait()
		s.Close()
	}
}

// Files of multipart forms do not outlive their request, whoever parsed it.
func TestUploadsAreRemoved(t *testing.T) {
	body, contentType := upload(t, 1<<20)
	uploads := func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.Header.Set("Content-Type", contentType)
	}
	parse := func(t *testing.T, r *http.Request) {
		if err := r.ParseMultipartForm(1); err != nil {
			t.Error(err)
		}
		if entries, err := os.ReadDir(os.TempDir()); err != nil || len(entries) != 1 {
			t.Errorf("%v, %v: no file was made", entries, err)
		}
	}
	for name, c := range map[string]struct {
		key     string
		handler func(t *testing.T, r *http.Request)
		named   bool
	}{
		"handler":            {"k", parse, false},
		"handler, panics":    {"k", func(t *testing.T, r *http.Request) { parse(t, r); panic("after it") }, false},
		"handler, no key":    {"", parse, false},
		"principal function": {"k", func(*testing.T, *http.Request) {}, true},
		"principal, bad key": {"\x01", func(*testing.T, *http.Request) {}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			p := policy()
			p.KeyOptional, p.RequestMax = true, 2<<20
			principal := func(r *http.Request) (string, error) {
				if c.named {
					parse(t, r)
				}
				return "alice", nil
			}
			server, err := runtime.NewServer(memory.New(), principal, quiet)
			if err != nil {
				t.Fatal(err)
			}
			h := server.HandleFunc(p, orders, func(_ http.ResponseWriter, r *http.Request) { c.handler(t, r) })
			do(h, request(c.key, "", uploads))
			if entries, err := os.ReadDir(os.TempDir()); err != nil || len(entries) > 0 {
				t.Errorf("left behind: %v, %v", entries, err)
			}
		})
	}
}

// upload is a multipart form with a file of n bytes, and its Content-Type.
func upload(t *testing.T, n int) ([]byte, string) {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	file, err := w.CreateFormFile("receipt", "receipt.txt")
	if err == nil {
		_, err = file.Write(bytes.Repeat([]byte("x"), n))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return body.Bytes(), w.FormDataContentType()
}

// part reads the beginning of a multipart form.
func part(r *http.Request) {
	if reader, err := r.MultipartReader(); err == nil {
		reader.NextPart()
	}
}

// closedBody is what a body is after it was closed.
type closedBody struct{}

func (closedBody) Read([]byte) (int, error) { return 0, http.ErrBodyReadAfterClose }
func (closedBody) Close() error             { return nil }

// Over a connection a body without a length that was read is told from one that
// was empty from the start, under both versions of the protocol.
func TestDrainedBodyOverAConnection(t *testing.T) {
	for _, version := range []int{1, 2} {
		for shape, h := range shapes(t, policy(), bearer) {
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("X-Drain") != "" {
					io.Copy(io.Discard, r.Body)
				}
				if r.ProtoMajor != version || r.ContentLength >= 0 {
					t.Errorf("HTTP/%d, a length of %d", r.ProtoMajor, r.ContentLength)
				}
				h.ServeHTTP(w, r)
			}))
			s.EnableHTTP2 = version == 2
			s.StartTLS()
			for _, c := range []struct {
				body, drain, expect string
				status              int
			}{
				{"", "", "", 200}, {"", "", "100-continue", 200}, {"{}", "", "", 200},
				{"", "1", "", 500}, {"{}", "1", "", 500}, {"{}", "1", "100-continue", 500},
			} {
				if c.expect != "" && version == 2 {
					continue
				}
				r, err := http.NewRequest("POST", s.URL+"/v1/orders", io.MultiReader(strings.NewReader(c.body)))
				if err != nil {
					t.Fatal(err)
				}
				r.ContentLength = -1
				r.Header = http.Header{"Authorization": {"Bearer alice"}, "Idempotency-Key": {fmt.Sprint(c)}, "Content-Type": {"application/json"}}
				if c.drain != "" {
					r.Header.Set("X-Drain", c.drain)
				}
				if c.expect != "" {
					r.Header.Set("Expect", c.expect)
				}
				response, err := s.Client().Do(r)
				if err != nil {
					t.Fatal(err)
				}
				text := readAll(t, response.Body)
				response.Body.Close()
				if response.StatusCode != c.status {
					t.Errorf("HTTP/%d, %s, %+v: %d %s", version, shape, c, response.StatusCode, text)
				}
			}
			s.Close()
		}
	}
}
