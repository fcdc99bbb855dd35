package runtime

import (
	"context"
	"fmt"
	"net/http"
	"sync"
)

// endpoint serves one annotated method.
type endpoint struct {
	server  *Server
	guard   *Guard
	route   Route
	prepare func(*Request) (prepared, error)

	wildcards []string
	mux       *http.ServeMux // fills the wildcards in where the router did not
	dropped   droppedHeaders
	flushOnce sync.Once // for the log line about streaming
	mounted   sync.Once // the log has told of a mount that does not match
}

// prepared is a request that was decoded.
type prepared struct {
	// work is all of it, unless the others say more.
	work Work
	// guarded runs it under its key.
	guarded func(context.Context, Call) (Result, error)
	// plain runs it without a key: nothing is stored and nothing left out.
	plain func(http.ResponseWriter, *http.Request) error
}

// run runs a request under its key.
func (e *endpoint) run(ctx context.Context, p prepared, call Call) (Result, error) {
	if p.guarded != nil {
		return p.guarded(ctx, call)
	}
	call.exchange.work = p.work
	return e.guard.do(ctx, call, plan{work: call.exchange})
}

// runPlain runs a request without a key.
func (e *endpoint) runPlain(w http.ResponseWriter, r *http.Request, p prepared) error {
	if p.plain != nil {
		return p.plain(w, r)
	}
	return e.plain(w, r, p.work)
}

func newEndpoint(s *Server, guard *Guard, route Route) (e *endpoint, err error) {
	if route.Status == 0 {
		route.Status = http.StatusOK
	}
	if !isAnswerStatus(route.Status) {
		return nil, fmt.Errorf("idemgen: route of %q: %d is not the status of an answer: from 200 to 999", guard.policy.Operation, route.Status)
	}
	e = &endpoint{server: s, guard: guard, route: route, wildcards: wildcards(route.Pattern)}
	if len(e.wildcards) > 0 {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("idemgen: route of %q: %v", guard.policy.Operation, p)
			}
		}()
		e.mux = http.NewServeMux()
		e.mux.HandleFunc(route.Pattern, e.serve)
	}
	return e, nil
}

// serve is one request, in the order that the design fixes: principal, key,
// body, decoding, fingerprint and claim, work, completion, answer. The body is
// taken first, because the functions that name the caller and check its rights
// may read it: what they have read would be missing from the fingerprint.
func (e *endpoint) serve(w http.ResponseWriter, r *http.Request) {
	policy := &e.guard.policy
	x := &exchange{endpoint: e}
	x.request = &x.own
	body, unread := readBody(w, r, policy.RequestMax)
	if isMistake(unread) {
		x.refuse(w, r, "", unread)
		return
	}
	if len(body) > 0 || unread != nil {
		r = readable(r.WithContext(r.Context()), body, unread)
		defer removeUploads(r)
	}
	principal, err := e.caller(r, body, unread)
	if err != nil && wasMissed(r) {
		// Who could not read the credentials cannot tell that they are wrong.
		err = unread
	}
	if err != nil {
		x.refuse(w, r, principal, err)
		return
	}
	key, err := policy.key(r.Header)
	if err != nil {
		x.refuse(w, r, principal, err)
		return
	}
	if unread != nil {
		x.refuse(w, r, principal, unread)
		return
	}
	x.take(r, body)
	var p prepared
	if err = x.unclear(r); err == nil {
		p, err = e.prepare(x.request)
	}
	if err == nil && key != "" {
		err = x.unordered(r)
	}
	if key == "" {
		if err == nil {
			info := &running{Context: r.Context(), id: ID{Principal: principal, Scope: policy.scope()}}
			if err = e.runPlain(w, r.WithContext(info), p); err != nil {
				x.refusePlain(w, r, principal, err)
			}
			return
		}
		x.refuse(w, r, principal, err)
		return
	}
	call := Call{Principal: principal, Key: key, exchange: x}
	var result Result
	if err == nil {
		result, err = e.run(r.Context(), p, call)
	} else if earlier, found, lookupErr := e.guard.Lookup(r.Context(), call); found {
		// Something may have run under this key before validation was
		// tightened: its row says more than the refusal would.
		result, err = earlier, lookupErr
	} else {
		x.refuse(w, r, principal, err)
		return
	}
	if err != nil {
		x.write(w, e.guard.refusalAnswer(r.Context(), err), false)
		return
	}
	x.write(w, result.Answer, result.Replayed)
}

// caller names the principal and checks its rights. Each of the two functions
// can read the body, or learns why it cannot be read.
func (e *endpoint) caller(r *http.Request, body []byte, unread error) (string, error) {
	principal, err := e.server.principal(r)
	if err = tame(err); err != nil {
		if _, classified := statusOf(err); classified {
			return "", err
		}
		return "", &Error{Status: 401, Code: CodeUnauthenticated, Message: "The caller could not be identified.", Cause: err}
	}
	if n := len(principal); n < 1 || n > 255 {
		return "", &Error{Status: 500, Code: CodePrincipalInvalid, Message: "The caller's identity cannot be used.",
			Cause: fmt.Errorf("the principal function returned %d bytes; 1 to 255 are allowed", n)}
	}
	authorize := e.guard.engine.settings.authorize
	if authorize == nil {
		return principal, nil
	}
	if len(body) > 0 || unread != nil {
		rewind(r, body, unread)
	}
	if err := tame(authorize(r, principal, e.guard.policy.Operation)); err != nil {
		if _, classified := statusOf(err); classified {
			return principal, err
		}
		return principal, &Error{Status: 403, Code: CodeForbidden, Message: "The caller may not do this.", Cause: err}
	}
	return principal, nil
}
