package runtime_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/runtime"
)

func TestTransportDerivesTheKey(t *testing.T) {
	var got []string
	payments := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Idempotency-Key"))
	}))
	defer payments.Close()
	client := &http.Client{Transport: &runtime.Transport{Step: func(r *http.Request) string { return strings.TrimPrefix(r.URL.Path, "/") }}}
	send := func(ctx context.Context, method, path, key string) error {
		r, err := http.NewRequestWithContext(ctx, method, payments.URL+path, strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		response, err := client.Do(r)
		if err != nil {
			return err
		}
		io.Copy(io.Discard, response.Body)
		return response.Body.Close()
	}

	g := newRig(t)
	p := policy()
	p.Failure = runtime.FailureRelease
	var derived string
	h := g.typed(p, func(ctx context.Context) (*runtime.Response, error) {
		derived, _ = runtime.DerivedKey(ctx, "authorize")
		for _, path := range []string{"/authorize", "/capture"} {
			if err := send(ctx, "POST", path, ""); err != nil {
				t.Error(err)
			}
		}
		if err := send(ctx, "GET", "/status", ""); err != nil {
			t.Error(err)
		}
		if err := send(ctx, "POST", "/own", "mine"); err != nil {
			t.Error(err)
		}
		if err := send(ctx, "POST", "/", ""); err == nil {
			t.Error("a call without a step was sent")
		}
		return nil, runtime.Release(io.ErrUnexpectedEOF)
	})
	do(h, request("k", ""))
	do(h, request("k", ""))
	if len(got) != 8 || got[0] != derived || got[0] == got[1] || got[2] != "" || got[3] != "mine" ||
		got[4] != got[0] || got[5] != got[1] {
		t.Errorf("keys %q", got)
	}
	if err := send(context.Background(), "POST", "/authorize", ""); err == nil {
		t.Error("a call outside a handler was sent without protection")
	}
}

// sent is a transport that keeps what it was given.
type sent []*http.Request

func (s *sent) RoundTrip(r *http.Request) (*http.Response, error) {
	*s = append(*s, r)
	return &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}, nil
}

// However a request comes to the transport, it leaves with one key that is not
// empty, or not at all; and it is not changed.
func TestTransportSendsOneKey(t *testing.T) {
	for _, c := range []struct {
		name   string
		method string
		header http.Header
		want   string // "derived", a key, "none" or an error's text
	}{
		{"no header at all", "POST", nil, "derived"},
		{"an empty key", "POST", http.Header{"Idempotency-Key": {""}}, "derived"},
		{"a key without values", "POST", http.Header{"Idempotency-Key": {}}, "derived"},
		{"a key in lower case", "POST", http.Header{"idempotency-key": {"mine"}}, "mine"},
		{"an empty key in lower case", "POST", http.Header{"idempotency-key": {""}}, "derived"},
		{"one key in two ways", "POST", http.Header{"idempotency-key": {"mine"}, "Idempotency-Key": {"mine", ""}}, "mine"},
		{"two keys", "POST", http.Header{"Idempotency-Key": {"a", "b"}}, "two keys"},
		{"two keys in two ways", "POST", http.Header{"idempotency-key": {"a"}, "Idempotency-Key": {"b"}}, "two keys"},
		{"QUERY", "QUERY", nil, "none"}, {"PROPFIND", "PROPFIND", nil, "none"}, {"SEARCH", "SEARCH", nil, "none"}, {"REPORT", "REPORT", nil, "none"},
		{"post", "post", nil, "derived"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newRig(t)
			do(g.typed(policy(), func(ctx context.Context) (*runtime.Response, error) {
				var base sent
				transport := &runtime.Transport{Base: &base, Header: "idempotency-key", Step: func(*http.Request) string { return "charge" }}
				r, err := http.NewRequestWithContext(ctx, c.method, "http://payments.example/", nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header = c.header
				before := c.header.Clone()
				_, err = transport.RoundTrip(r)
				if len(before) != len(r.Header) || len(before) > 0 && !reflect.DeepEqual(before, r.Header) {
					t.Errorf("the request was changed to %v", r.Header)
				}
				if c.want == "two keys" {
					if err == nil || !strings.Contains(err.Error(), c.want) || len(base) > 0 {
						t.Errorf("%v, sent %d", err, len(base))
					}
					return nil, nil
				}
				if err != nil {
					t.Fatal(err)
				}
				want := c.want
				if want == "derived" {
					want, _ = runtime.DerivedKey(ctx, "charge")
				}
				keys := 0
				for name := range base[0].Header {
					if strings.EqualFold(name, "Idempotency-Key") {
						keys++
					}
				}
				if got := base[0].Header["Idempotency-Key"]; want == "none" && keys > 0 || want != "none" && (keys != 1 || len(got) != 1 || got[0] != want) {
					t.Errorf("sent with %v, want %q", base[0].Header, want)
				}
				return nil, nil
			}), request("k", ""))
		})
	}
}
