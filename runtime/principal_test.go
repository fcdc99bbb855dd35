package runtime_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/runtime"
)

func TestPrincipalErrors(t *testing.T) {
	for _, c := range []struct {
		principal string
		err       error
		status    int
	}{
		{"", errors.New("no token"), 401},
		{"", &runtime.Error{Status: 503, Message: "identity service is down"}, 503},
		{"", nil, 500},
		{strings.Repeat("p", 256), nil, 500},
		{strings.Repeat("p", 255), nil, 201},
		{"\x00\xff'; --", nil, 201},
	} {
		g := newRig(t)
		server, err := runtime.NewServer(g.ledger, func(*http.Request) (string, error) { return c.principal, c.err }, quiet)
		if err != nil {
			t.Fatal(err)
		}
		h := server.Handle(policy(), orders, func(*runtime.Request) (runtime.Work, error) { return created, nil })
		if w := do(h, request("k", "")); w.Code != c.status {
			t.Errorf("principal %q, error %v: %d, want %d", c.principal, c.err, w.Code, c.status)
		}
	}
}

// A request without a key leaves nothing in the ledger, but it runs on behalf of
// somebody.
func TestPrincipalIsCheckedWithoutAKey(t *testing.T) {
	for _, principal := range []string{"", strings.Repeat("p", 256)} {
		g := newRig(t)
		server, err := runtime.NewServer(g.ledger, func(*http.Request) (string, error) { return principal, nil }, quiet)
		if err != nil {
			t.Fatal(err)
		}
		p := policy()
		p.KeyOptional = true
		h := server.Handle(p, orders, func(*runtime.Request) (runtime.Work, error) {
			return func(context.Context) (*runtime.Response, error) {
				t.Errorf("the work ran for %q", principal)
				return nil, nil
			}, nil
		})
		wantCode(t, do(h, request("", "")), 500, "principal_invalid")
	}
}

func TestPrincipalsAreApart(t *testing.T) {
	g := newRig(t)
	h := g.typed(policy(), func(ctx context.Context) (*runtime.Response, error) {
		return &runtime.Response{Body: []byte(runtime.Principal(ctx))}, nil
	})
	bob := func(r *http.Request) { r.Header.Set("Authorization", "Bearer bob") }
	if a, b := do(h, request("k", "1")), do(h, request("k", "2", bob)); a.Body.String() != "alice" || b.Body.String() != "bob" {
		t.Errorf("alice got %s, bob got %s", a.Body, b.Body)
	}
	if w := do(h, request("k", "1", bob)); w.Code != 422 {
		t.Errorf("bob with alice's request: %d", w.Code)
	}
}

func TestWithdrawnRightsGetNoReplay(t *testing.T) {
	withdrawn := false
	g := newRig(t, runtime.WithAuthorize(func(*http.Request, string, string) error {
		if withdrawn {
			return errors.New("dismissed")
		}
		return nil
	}))
	h := g.typed(policy(), created)
	do(h, request("k", ""))
	withdrawn = true
	w := do(h, request("k", ""))
	wantCode(t, w, 403, "forbidden")
	if strings.Contains(w.Body.String(), `"id"`) || w.Header().Get("Location") != "" {
		t.Errorf("403 with %s %s", w.Header(), w.Body)
	}
}

func TestScope(t *testing.T) {
	for scope, want := range map[runtime.Scope]int{runtime.ScopePrincipal: 422, runtime.ScopeOperation: 201} {
		g := newRig(t)
		orders, refunds := policy(), runtime.DefaultPolicy("POST /v1/refunds")
		orders.Scope, refunds.Scope = scope, scope
		do(g.typed(orders, created), request("k", ""))
		r := request("k", "", func(r *http.Request) { r.RequestURI = "/v1/refunds" })
		if w := do(g.typed(refunds, created), r); w.Code != want {
			t.Errorf("scope %s: %d, want %d", scope, w.Code, want)
		}
	}
}
