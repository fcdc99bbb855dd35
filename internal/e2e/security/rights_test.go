package security_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// A caller that lost its rights, or its name, gets neither a replay nor a word
// on whether there is one; when it has them back, the answer is still there.
func TestLostRightsGetNoReplay(t *testing.T) {
	var lost atomic.Pointer[error]
	lose := func(err error) { lost.Store(&err) }
	lose(nil)
	runs := 0
	p := policy()
	p.Wait = time.Second
	g := guard(t, p, func(w http.ResponseWriter, r *http.Request) {
		runs++
		w.Header().Set("Location", "/"+secret)
		w.Write([]byte(secret))
	}, runtime.WithAuthorize(func(*http.Request, string, string) error { return *lost.Load() }))
	first := g.send(t, "alice", "k", "{}")
	for _, c := range []struct {
		err    error
		caller string
		status int
	}{
		{errors.New("dismissed: " + secret), "alice", 403},
		{&runtime.Error{Status: 404, Code: "gone", Message: "There is nothing here."}, "alice", 404},
		{&runtime.Error{Status: 503, Message: "The rights could not be looked up."}, "alice", 503},
		{nil, "%zz", 401}, // a token that does not decode
	} {
		lose(c.err)
		replay := g.send(t, c.caller, "k", "{}")
		if replay.status != c.status || replay.replayed() || strings.Contains(replay.body, secret) || replay.header.Get("Location") != "" {
			t.Errorf("%v: %+v", c.err, replay)
		}
		// A key that was used, one that was used for something else, one that
		// is none and one that is new all look the same.
		for _, other := range []answer{g.send(t, c.caller, "k", "other"), g.send(t, c.caller, "new", "{}"), g.send(t, c.caller, strings.Repeat("k", 300), "{}")} {
			if other.status != replay.status || other.body != replay.body {
				t.Errorf("%v: %+v tells more than %+v", c.err, other, replay)
			}
		}
	}
	lose(nil)
	again := g.send(t, "alice", "k", "{}")
	if !again.replayed() || again.body != first.body || runs != 1 || g.rows(t) != 1 {
		t.Errorf("with its rights back: %+v after %d runs", again, runs)
	}
}

// Rights are a matter of the operation: what one endpoint would replay is not to
// be had through another.
func TestKeysOfAnotherOperation(t *testing.T) {
	for _, scope := range []runtime.Scope{runtime.ScopePrincipal, runtime.ScopeOperation} {
		p := policy()
		p.Scope = scope
		g := guard(t, p, func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(secret)) })
		g.send(t, "alice", "k", "{}")
		other := runtime.DefaultPolicy("POST /other")
		other.Scope = scope
		m, err := runtime.NewMiddleware(other, g.store.Keys, caller)
		if err != nil {
			t.Fatal(err)
		}
		g.Config.Handler = m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("other")) }))
		// The same path, as behind a router that tells them apart by more.
		a := g.send(t, "mallory", "k", "{}")
		if a.body != "other" || a.replayed() {
			t.Errorf("scope %s: mallory got %+v", scope, a)
		}
	}
}
