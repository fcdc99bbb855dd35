package runtime_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
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
