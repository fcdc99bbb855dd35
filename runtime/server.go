package runtime

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
)

// Server makes HTTP handlers of annotated methods. Its Handle methods are for
// one goroutine, before the handlers serve; the handlers are safe for
// concurrent use. The zero value is not usable; see [NewServer].
type Server struct {
	engine    *Engine
	principal PrincipalFunc

	mu     sync.Mutex // middleware may wrap handlers while others serve
	routes []Route
	form   ErrorForm // of the endpoints
	err    error
}

// NewServer returns a server on a ledger. Call Close at the end of the process.
func NewServer(ledger Ledger, principal PrincipalFunc, opts ...Option) (*Server, error) {
	if principal == nil {
		return nil, errors.New("idemgen: NewServer: nil principal function: without one, callers would share their keys")
	}
	engine, err := NewEngine(ledger, opts...)
	if err != nil {
		return nil, err
	}
	return &Server{engine: engine, principal: principal}, nil
}

// Close waits for what runs in the background; see [Engine.Close].
func (s *Server) Close(ctx context.Context) error { return s.engine.Close(ctx) }

// Err returns what the Handle calls have refused, all of it. It is the one way to
// learn of that before the server serves: a handler that could not be made
// answers every request with a 500.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Route is where an endpoint is mounted.
type Route struct {
	Method  string // "POST"
	Pattern string // ServeMux pattern without method and host: "/v1/orders/{id}"
	Status  int    // of a response that names none; 0 is 200
}

// Handle returns the handler of an endpoint. decode turns a request into work
// before the key is claimed; what it refuses is stored nowhere.
func (s *Server) Handle(p Policy, route Route, decode func(*Request) (Work, error)) http.Handler {
	err := cmp.Or(p.outsideTx(), p.given(decode != nil))
	return s.endpoint(p, route, err, func(e *endpoint) {
		e.prepare = func(r *Request) (prepared, error) {
			if err := r.checkQuery(); err != nil {
				return prepared{}, err
			}
			work, err := decode(r)
			return prepared{work: work}, err
		}
	})
}

// HandleTx is [Server.Handle] for work in a transaction of the ledger, which
// must be the server's own. Its key cannot be optional: without a claim there
// is no transaction. Its lease is not renewed: the transaction holds the row.
func HandleTx[T any](s *Server, ledger TxLedger[T], p Policy, route Route, decode func(*Request) (TxWork[T], error)) http.Handler {
	err := p.given(decode != nil)
	switch {
	case isNil(ledger):
		err = p.mistake("nil ledger")
	case p.KeyOptional:
		err = p.mistake("KeyOptional: work in a transaction needs a key")
	default:
		err = cmp.Or(p.insideTx(canOnce(ledger)), err)
	}
	return s.endpoint(p, route, err, func(e *endpoint) {
		e.prepare = func(r *Request) (prepared, error) {
			if err := r.checkQuery(); err != nil {
				return prepared{}, err
			}
			work, err := decode(r)
			if err != nil {
				return prepared{}, err
			}
			return prepared{guarded: func(ctx context.Context, call Call) (Result, error) {
				return DoTx(ctx, e.guard, ledger, call, func(ctx context.Context, tx T) (Answer, error) {
					return call.exchange.respond(ctx, func(ctx context.Context) (*Response, error) { return work(ctx, tx) })
				})
			}}, nil
		}
	})
}

// HandleFunc returns the handler of an endpoint that is a standard handler.
func (s *Server) HandleFunc(p Policy, route Route, h http.HandlerFunc) http.Handler {
	err := cmp.Or(p.outsideTx(), p.given(h != nil))
	return s.endpoint(p, route, err, func(e *endpoint) {
		e.prepare = func(r *Request) (prepared, error) {
			return prepared{
				work: e.captured(h, r),
				plain: func(w http.ResponseWriter, plain *http.Request) error {
					readable(plain, r.Body, nil)
					defer removeUploads(plain)
					h(w, plain)
					return nil
				},
			}, nil
		}
	})
}

// given reports a function that is missing.
func (p *Policy) given(given bool) error {
	if given {
		return nil
	}
	return p.mistake("the function that makes its handler is nil")
}

// endpoint makes a handler, or keeps the reason why it cannot: mistake, or what
// is wrong with the policy or the route.
func (s *Server) endpoint(p Policy, route Route, mistake error, configure func(*endpoint)) http.Handler {
	guard, err := s.engine.Guard(p)
	if err == nil {
		var e *endpoint
		e, err = newEndpoint(s, guard, route)
		if err = cmp.Or(err, mistake); err == nil {
			configure(e)
			s.mount(route, guard.policy.Errors)
			return e
		}
	}
	s.mu.Lock()
	s.err = errors.Join(s.err, err)
	s.mu.Unlock()
	return s.mistaken(err)
}

// mount remembers where an endpoint is, for [Server.Unmatched].
func (s *Server) mount(route Route, form ErrorForm) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if route.Pattern != "" { // a handler for any path
		s.routes, s.form = append(s.routes, route), form
	}
}
