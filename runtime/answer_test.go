package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"io"
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
