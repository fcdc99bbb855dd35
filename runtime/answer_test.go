package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/runtime"
)

func TestAnswersReplayExactly(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for name, fn := range map[string]http.HandlerFunc{
		"binary":      func(w http.ResponseWriter, r *http.Request) { w.Write(every) },
		"never wrote": func(w http.ResponseWriter, r *http.Request) {},
		"empty":       func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(202) },
		"several values": func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Link"] = []string{"<a>, <b>", "<c>"}
			w.Write([]byte("x"))
		},
		"disposition": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Disposition", `attachment; filename="a,b.txt"`)
			w.Write([]byte("a,b"))
		},
		"compressed": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write([]byte{0x1f, 0x8b, 0})
		},
		"no type": func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Content-Type"] = nil
			w.Write([]byte("<html>"))
		},
		"no content": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(204)
			if _, err := w.Write([]byte("x")); err != http.ErrBodyNotAllowed {
				t.Errorf("a write to a 204: %v", err)
			}
		},
		"reset content": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(205)
			if _, err := w.Write([]byte("x")); err != http.ErrBodyNotAllowed {
				t.Errorf("a write to a 205: %v", err)
			}
		},
		"not modified": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(304) },
		"late header": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(200)
			w.Header().Set("Link", "late")
		},
		"informational": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(103)
			w.WriteHeader(201)
			w.WriteHeader(500)
		},
		"length and date": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "99")
			w.Header().Set("Date", "never")
			w.Write([]byte("x"))
		},
		"flushed": func(w http.ResponseWriter, r *http.Request) {
			w.Write([]byte("a"))
			w.(http.Flusher).Flush()
			w.Write([]byte("b"))
			if err := http.NewResponseController(w).Flush(); !errors.Is(err, http.ErrNotSupported) {
				t.Errorf("Flush: %v", err)
			}
			if _, _, err := http.NewResponseController(w).Hijack(); !errors.Is(err, http.ErrNotSupported) {
				t.Errorf("Hijack: %v", err)
			}
		},
		"4xx": func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no such sku", 404) },
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			p := policy()
			p.Replay = append(p.Replay, "Link")
			h := g.standard(p, fn)
			server := httptest.NewServer(h)
			defer server.Close()
			first, again := send(t, server, "k"), send(t, server, "k")
			if marker := again.header.Get("Idempotency-Replayed"); marker != "true" || first.header.Get("Idempotency-Replayed") != "" {
				t.Errorf("marker %q", marker)
			}
			again.header.Del("Idempotency-Replayed")
			first.header.Del("Date")
			again.header.Del("Date")
			if fmt.Sprint(first) != fmt.Sprint(again) {
				t.Errorf("first answer\n%v\nreplay\n%v", first, again)
			}
			if g.runs != 1 {
				t.Errorf("%d runs", g.runs)
			}
		})
	}
}

type answer struct {
	status int
	header http.Header
	body   string
}

// send makes a request over TCP.
func send(t *testing.T, server *httptest.Server, key string) answer {
	t.Helper()
	r, err := http.NewRequest("POST", server.URL+"/v1/orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer alice")
	r.Header.Set("Idempotency-Key", key)
	r.Header.Set("Accept-Encoding", "identity")
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return answer{response.StatusCode, response.Header, string(readAll(t, response.Body))}
}

// Each value of a header is a line of its own, in the first answer and in the
// replay.
func TestSeveralValuesAreSent(t *testing.T) {
	g := newRig(t)
	p := policy()
	p.Replay = []string{"Link"}
	h := g.typed(p, func(context.Context) (*runtime.Response, error) {
		return &runtime.Response{Header: http.Header{"Link": {"<a>, <b>", "<c>"}}}, nil
	})
	for _, answer := range []string{"first", "replay"} {
		if got := do(h, request("k", "")).Header()["Link"]; !slices.Equal(got, []string{"<a>, <b>", "<c>"}) {
			t.Errorf("%s: %q", answer, got)
		}
	}
}

func TestDroppedHeaderIsSaidOnce(t *testing.T) {
	g := newRig(t)
	h := g.typed(policy(), func(context.Context) (*runtime.Response, error) {
		return &runtime.Response{Header: http.Header{"Set-Cookie": {"session=secret"}, "X-Debug": {"1"}}}, nil
	})
	for _, key := range []string{"a", "b"} {
		if w := do(h, request(key, "")); w.Header().Get("Set-Cookie") != "" || w.Header().Get("X-Debug") != "" {
			t.Errorf("dropped headers were sent: %s", w.Header())
		}
	}
	log := g.log.String()
	if strings.Count(log, "header=Set-Cookie") != 1 || strings.Count(log, "header=X-Debug") != 1 || strings.Contains(log, "secret") {
		t.Errorf("log: %s", log)
	}
}

func TestAnswerTooLarge(t *testing.T) {
	for _, size := range []int{16<<10 - len("Content-Type: text/plain\n"), 16<<10 - len("Content-Type: text/plain\n") + 1, 1 << 20} {
		g := newRig(t)
		h := g.standard(policy(), func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, strings.Repeat("x", size))
		})
		first := do(h, request("k", ""))
		if size+len("Content-Type: text/plain\n") <= 16<<10 {
			if first.Code != 200 || first.Body.Len() != size {
				t.Errorf("%d bytes: %d", size, first.Code)
			}
		} else {
			wantCode(t, first, 500, "idempotency_response_too_large")
		}
		wantReplay(t, first, do(h, request("k", "")))
		if g.runs != 1 {
			t.Errorf("%d bytes: %d runs", size, g.runs)
		}
	}
}

func TestHangUp(t *testing.T) {
	g := newRig(t)
	ctx, hangUp := context.WithCancel(context.Background())
	h := g.typed(policy(), func(inner context.Context) (*runtime.Response, error) {
		hangUp()
		wantAlive(t, "the handler's context", inner)
		if _, bounded := inner.Deadline(); !bounded {
			t.Error("the handler has no deadline")
		}
		return created(inner)
	})
	g.ledger.complete = func(ctx context.Context, c runtime.Completion) (bool, error) {
		wantAlive(t, "the completion's context", ctx)
		return g.ledger.Ledger.Complete(ctx, c)
	}
	first := do(h, request("k", "").WithContext(ctx))
	wantReplay(t, first, do(h, request("k", "")))
	if g.runs != 1 {
		t.Errorf("%d runs", g.runs)
	}
}

// wantAlive looks at a context in every way: some make up their mind only when
// somebody waits for them.
func wantAlive(t *testing.T, what string, ctx context.Context) {
	t.Helper()
	if err := errors.Join(ctx.Err(), context.Cause(ctx)); err != nil {
		t.Errorf("%s ended with the client: %v", what, err)
	}
	child, cancel := context.WithCancel(ctx)
	defer cancel()
	select {
	case <-ctx.Done():
		t.Errorf("%s ended with the client for whoever waits: %v", what, ctx.Err())
	default:
	}
	if err := child.Err(); err != nil {
		t.Errorf("%s ended with the client for what is derived from it: %v", what, err)
	}
}

// The first Flush of a request is an event, the first of an endpoint a line in
// the log.
func TestFlushIsSeen(t *testing.T) {
	g := newRig(t)
	p := policy()
	p.KeyOptional = true
	h := g.standard(p, func(w http.ResponseWriter, r *http.Request) {
		for range 3 {
			w.Write([]byte("data: x\n\n"))
			http.NewResponseController(w).Flush()
			if flusher, ok := w.(http.Flusher); ok {
				flusher.Flush()
			}
		}
	})
	for _, key := range []string{"k", "l"} {
		if w := do(h, request(key, "{}")); w.Flushed || w.Body.Len() != 27 {
			t.Errorf("flushed %v: %s", w.Flushed, w.Body)
		}
	}
	if got, want := g.events.kinds(), "claimed flushed completed claimed flushed completed"; got != want {
		t.Errorf("the events are %s, want %s", got, want)
	}
	if n := strings.Count(g.log.String(), "flushes its answer"); n != 1 {
		t.Errorf("%d lines about it in the log %s", n, g.log)
	}
	if w := do(h, request("", "{}")); !w.Flushed {
		t.Error("without a key nothing is held back")
	}
}

// Names of headers in any case are the same headers, in the first answer and in
// replays: there is one type, and none is guessed beside it.
func TestHeaderNamesOfAnyCase(t *testing.T) {
	for name, header := range map[string]http.Header{
		"lower case":          {"content-type": {"application/json"}, "location": {"/1"}},
		"both":                {"content-type": {"text/plain"}, "Content-Type": {"application/json"}, "LOCATION": {"/1"}},
		"two types":           {"Content-Type": {"application/json", "text/plain"}, "Location": {"/1"}},
		"spellings of a list": {"link": {"<c>"}, "LINK": {"<a>"}, "Link": {"<b>"}, "cONTENT-tYPE": {"application/json"}, "Location": {"/1"}},
	} {
		for _, key := range []string{"k", ""} {
			g := newRig(t)
			p := policy()
			p.KeyOptional, p.Replay = true, []string{"Location", "Link"}
			h := g.typed(p, func(context.Context) (*runtime.Response, error) {
				return &runtime.Response{Header: header, Body: []byte("{}")}, nil
			})
			standard := g.standard(p, func(w http.ResponseWriter, r *http.Request) {
				maps.Copy(w.Header(), header)
				w.WriteHeader(201)
				io.WriteString(w, "{}")
			})
			for shape, h := range map[string]http.Handler{"raw": h, "standard": standard} {
				if shape == "standard" && key == "" {
					continue // net/http's own answer
				}
				key := key
				if key != "" {
					key += shape
				}
				w := do(h, request(key, shape))
				sent := 0
				for name, values := range w.Header() {
					if strings.EqualFold(name, "Content-Type") {
						sent += len(values)
					}
				}
				if sent != 1 || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Location") != "/1" {
					t.Errorf("%s, %s, key %q: %v", name, shape, key, w.Header())
				}
				if links := strings.Join(w.Header()["Link"], ""); len(w.Header()["Link"]) > 0 && links != "<a><b><c>" {
					t.Errorf("%s, %s: %s", name, shape, links)
				}
				if key != "" {
					wantReplay(t, w, do(h, request(key, shape)))
				}
			}
		}
	}
}
