package runtime

import (
	"cmp"
	"context"
	"net/http"
)

// Middleware makes any handler safe to retry under one policy, without
// generated code. It is safe for concurrent use.
type Middleware struct {
	server *Server
	policy Policy
}

// NewMiddleware returns a middleware. Its Wrap method is a
// func(http.Handler) http.Handler. Call Close at the end of the process.
func NewMiddleware(p Policy, ledger Ledger, principal PrincipalFunc, opts ...Option) (*Middleware, error) {
	server, err := NewServer(ledger, principal, opts...)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(p.validate(), p.outsideTx()); err != nil {
		return nil, err
	}
	return &Middleware{server, p}, nil
}

// Wrap guards next. Requests with a safe method (RFC 9110, section 9.2.1) pass
// by: they have no effect to repeat.
func (m *Middleware) Wrap(next http.Handler) http.Handler {
	guarded := m.server.HandleFunc(m.policy, Route{}, next.ServeHTTP)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isSafe(r.Method) {
			next.ServeHTTP(w, r)
			return
		}
		guarded.ServeHTTP(w, r)
	})
}

// Close waits for what runs in the background; see [Engine.Close].
func (m *Middleware) Close(ctx context.Context) error { return m.server.Close(ctx) }
