package routers_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/gorilla/mux"
	"github.com/labstack/echo/v4"

	"github.com/idemgen/idemgen/example/routers"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/idemtest"
)

var mounts = map[string]func(*routers.ParcelsServer) http.Handler{
	"net/http": routers.NetHTTP,
	"chi":      routers.Chi,
	"gin":      routers.Gin,
	"echo":     routers.Echo,
	"gorilla":  routers.Gorilla,
}

func newServer(t *testing.T, log *bytes.Buffer) *routers.ParcelsServer {
	t.Helper()
	ledger, _ := idemtest.Memory()
	s, err := routers.New(ledger, runtime.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// request is a client's, as a server receives it.
func request(method, target string) *http.Request {
	body := ""
	if strings.HasSuffix(target, "/parcels") {
		body = `{"to":"bob"}`
	}
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("X-Account", "alice")
	r.Header.Set("Idempotency-Key", "k "+target)
	r.Header.Set("Content-Type", "application/json")
	if body == "" {
		r.Header.Del("Content-Type")
	}
	return r
}

func TestRouters(t *testing.T) {
	for name, mount := range mounts {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			h := mount(newServer(t, &log))
			for target, label := range map[string]string{
				"/v1/parcels":                       "to bob",
				"/v1/parcels/7/return":              "7",
				"/v1/parcels/a%2Fb/return":          "a/b",
				"/v1/parcels/50%25%20off/return":    "50% off",
				"/v1/parcels/a%252Fb/return":        "a%2Fb",
				"/shop/v1/parcels/7/return":         "7",
				"/shop/v1/parcels/a%2Fb/return":     "a/b",
				"/all/v1/parcels":                   "to bob",
				"/all/v1/parcels/7/return":          "7",
				"/all/v1/parcels/a%2Fb/return":      "a/b",
				"/all/v1/parcels/7/return?late=1":   "7",
				"/v1/parcels/%C3%A4/return":         "ä",
				"/all/v1/parcels/a%252Fb/return":    "a%2Fb",
				"/shop/v1/parcels/a%252Fb/return":   "a%2Fb",
				"/shop/v1/parcels/x%20y%2Fz/return": "x y/z",
			} {
				w := idemtest.Retry(t, h, request("POST", target))
				var sent routers.Sent
				if err := json.Unmarshal(w.Body.Bytes(), &sent); err != nil || sent.Label != label {
					t.Errorf("%s: %d %s, want label %q", target, w.Code, w.Body, label)
				}
			}
			if log.Len() > 0 {
				t.Errorf("the log says %s", &log)
			}
		})
	}
}

// The whole server says itself that it has no such endpoint, wherever it is
// mounted.
func TestUnmatched(t *testing.T) {
	for name, mount := range mounts {
		h := mount(newServer(t, &bytes.Buffer{}))
		for _, c := range []struct {
			method, target string
			status         int
			code, allow    string
		}{
			{"POST", "/all/v1/parcel", 404, runtime.CodeEndpointUnknown, ""},
			{"GET", "/all/v1/parcels", 405, runtime.CodeMethodNotAllowed, "POST"},
			{"DELETE", "/all/v1/parcels/7/return", 405, runtime.CodeMethodNotAllowed, "POST"},
		} {
			w := idemtest.Send(t, h, request(c.method, c.target))
			var problem struct{ Error, Retry string }
			json.Unmarshal(w.Body.Bytes(), &problem)
			if w.Code != c.status || problem.Error != c.code || problem.Retry != "fix-request" || w.Header().Get("Allow") != c.allow ||
				w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s: %s %s: %d %v %s", name, c.method, c.target, w.Code, w.Header(), w.Body)
			}
		}
	}
}

// A field at a path that does not match its own says so, once.
func TestMisplaced(t *testing.T) {
	for name, mount := range map[string]func(h http.Handler) http.Handler{
		"net/http": func(h http.Handler) http.Handler {
			m := http.NewServeMux()
			m.Handle("POST /parcels/{parcel}/return", h)
			return m
		},
		"chi": func(h http.Handler) http.Handler {
			m := chi.NewRouter()
			m.Method("POST", "/parcels/{parcel}/return", h)
			return m
		},
		"gin": func(h http.Handler) http.Handler {
			m := gin.New()
			m.POST("/parcels/:label/return", gin.WrapH(h))
			return m
		},
		"echo": func(h http.Handler) http.Handler {
			m := echo.New()
			m.POST("/parcels/:label/return", echo.WrapHandler(h))
			return m
		},
		"gorilla": func(h http.Handler) http.Handler {
			m := mux.NewRouter()
			m.Handle("/parcels/{label}/return", h)
			return m
		},
	} {
		var log bytes.Buffer
		h := mount(newServer(t, &log).Return)
		for range 3 {
			w := idemtest.Send(t, h, request("POST", "/parcels/7/return"))
			if w.Code != 404 || !strings.Contains(w.Body.String(), runtime.CodeEndpointUnknown) {
				t.Errorf("%s: %d %s", name, w.Code, w.Body)
			}
		}
		said := log.String()
		if strings.Count(said, "mounted at a path that does not match") != 1 ||
			!strings.Contains(said, `declared="POST /v1/parcels/{label}/return"`) || !strings.Contains(said, "/parcels/") {
			t.Errorf("%s: the log says %s", name, said)
		}
	}
}

// Routers that tell net/http's wildcards need no StripPrefix; escapes come out
// as they do elsewhere.
func TestPrefixThatStays(t *testing.T) {
	for name, mount := range map[string]func(h http.Handler) http.Handler{
		"net/http": func(h http.Handler) http.Handler {
			m := http.NewServeMux()
			m.Handle("POST /shop/v1/parcels/{label}/return", h)
			return m
		},
		"chi": func(h http.Handler) http.Handler {
			m := chi.NewRouter()
			m.Method("POST", "/shop/v1/parcels/{label}/return", h)
			return m
		},
	} {
		var log bytes.Buffer
		h := mount(newServer(t, &log).Return)
		for target, label := range map[string]string{
			"/shop/v1/parcels/7/return":       "7",
			"/shop/v1/parcels/a%2Fb/return":   "a/b",
			"/shop/v1/parcels/a%252Fb/return": "a%2Fb",
		} {
			w := idemtest.Send(t, h, request("POST", target))
			if want := `{"label":"` + label + `"}`; w.Body.String() != want || log.Len() > 0 {
				t.Errorf("%s: %s: %d %s, want %s; the log says %s", name, target, w.Code, w.Body, want, &log)
			}
		}
	}
}
