package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
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
}

// prepared is a request that was decoded.
type prepared struct {
	// guarded runs it under its key.
	guarded func(context.Context, Call) (Result, error)
	// plain runs it without a key: nothing is stored and nothing left out.
	plain func(http.ResponseWriter, *http.Request) error
}

func newEndpoint(s *Server, guard *Guard, route Route) (e *endpoint, err error) {
	if route.Status == 0 {
		route.Status = http.StatusOK
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

// wildcards are the names in a pattern's braces.
func wildcards(pattern string) (names []string) {
	for _, segment := range strings.Split(pattern, "/") {
		name, found := strings.CutPrefix(segment, "{")
		name, closed := strings.CutSuffix(name, "}")
		if name = strings.TrimSuffix(name, "..."); found && closed && name != "$" {
			names = append(names, name)
		}
	}
	return names
}

// ServeHTTP implements http.Handler. A router that is not a ServeMux may leave
// the wildcards empty; the endpoint's own mux fills them in then.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, name := range e.wildcards {
		if r.PathValue(name) == "" {
			e.mux.ServeHTTP(w, r)
			return
		}
	}
	e.serve(w, r)
}

// serve is one request, in the order that the design fixes: principal, key,
// body, decoding, fingerprint and claim, work, completion, answer.
func (e *endpoint) serve(w http.ResponseWriter, r *http.Request) {
	policy := &e.guard.policy
	principal, err := e.caller(r)
	if err != nil {
		e.refuse(w, r, principal, err)
		return
	}
	key, err := policy.key(r.Header)
	if err != nil {
		e.refuse(w, r, principal, err)
		return
	}
	body, err := readBody(w, r, policy.RequestMax)
	if err != nil {
		e.refuse(w, r, principal, err)
		return
	}
	request := newRequest(r, policy.Fingerprint, body)
	p, err := e.prepare(request)
	if key == "" {
		if err == nil {
			info := &running{id: ID{Principal: principal, Scope: policy.scope()}}
			err = p.plain(w, r.WithContext(withRunning(r.Context(), info)))
		}
		if err != nil {
			e.refuse(w, r, principal, err)
		}
		return
	}
	parts := FingerprintParts{Method: r.Method, URI: request.URI, Host: r.Host, Header: r.Header, Body: body}
	call := Call{Principal: principal, Key: key, Fingerprint: func(rule Rule) [32]byte { return rule.Fingerprint(parts) }}
	var result Result
	if err == nil {
		result, err = p.guarded(r.Context(), call)
	} else if earlier, found, lookupErr := e.guard.Lookup(r.Context(), call); found {
		// Something may have run under this key before validation was
		// tightened: its row says more than the refusal would.
		result, err = earlier, lookupErr
	} else {
		e.observeRefusal(r.Context(), principal, err)
	}
	if err != nil {
		e.write(w, errorAnswer(policy.Errors, err), false)
		return
	}
	e.write(w, result.Answer, result.Replayed)
}

// caller names the principal and checks its rights.
func (e *endpoint) caller(r *http.Request) (string, error) {
	principal, err := e.server.principal(r)
	if err != nil {
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
	if err := authorize(r, principal, e.guard.policy.Operation); err != nil {
		if _, classified := statusOf(err); classified {
			return principal, err
		}
		return principal, &Error{Status: 403, Code: CodeForbidden, Message: "The caller may not do this.", Cause: err}
	}
	return principal, nil
}

// key reads the key header; "" is an optional key that is absent.
func (p *Policy) key(h http.Header) (string, error) {
	lines := h.Values(p.KeyHeader)
	switch {
	case len(lines) == 0 && p.KeyOptional:
		return "", nil
	case len(lines) == 0:
		return "", &Error{Status: 400, Code: CodeKeyRequired, Message: "The " + p.KeyHeader + " header is required."}
	case len(lines) > 1:
		return "", &Error{Status: 400, Code: CodeKeyInvalid, Message: fmt.Sprintf("The %s header stands there %d times; once is allowed.", p.KeyHeader, len(lines))}
	}
	return lines[0], p.checkKey(lines[0])
}

// readBody reads at most limit bytes. The buffer grows with what was received,
// whatever Content-Length promises.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	tooLarge := &Error{Status: 413, Code: CodeBodyTooLarge, Message: fmt.Sprintf("The body is larger than %d bytes.", limit)}
	if r.ContentLength > limit {
		return nil, tooLarge
	}
	var buffer bytes.Buffer
	buffer.Grow(int(min(max(r.ContentLength+bytes.MinRead, bytes.MinRead), 64<<10)))
	_, err := buffer.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge
	case err != nil:
		return nil, &Error{Status: 400, Code: CodeBodyUnreadable, Message: "The body could not be read.", Cause: err}
	}
	return buffer.Bytes(), nil
}

// answering turns a response into the answer that is stored.
func (e *endpoint) answering(work Work) func(context.Context) (Answer, error) {
	return func(ctx context.Context) (Answer, error) {
		response, err := work(ctx)
		if err != nil {
			return Answer{}, err
		}
		if response == nil {
			response = &Response{}
		}
		return e.answer(ctx, response)
	}
}

// answer keeps of a response what a replay can repeat.
func (e *endpoint) answer(ctx context.Context, response *Response) (Answer, error) {
	status := response.Status
	if status == 0 {
		status = e.route.Status
	}
	if status < 200 || status > 999 {
		return Answer{}, fmt.Errorf("idemgen: %d is not the status of an answer", status)
	}
	header, dropped := e.guard.policy.keep(response.Header)
	for _, name := range dropped {
		if e.dropped.first(name) {
			e.guard.engine.settings.logger.LogAttrs(ctx, slog.LevelWarn,
				"idemgen: a response header is dropped, because replays cannot repeat it; list it in replay= or do not set it",
				slog.String("operation", e.guard.policy.Operation), slog.String("header", name))
		}
	}
	body := response.Body
	if !bodyAllowed(status) {
		body = nil
	}
	_, typed := response.Header["Content-Type"]
	if !typed && len(body) > 0 && header.Get("Content-Encoding") == "" {
		header = append(Header{{"Content-Type", http.DetectContentType(body)}}, header...)
	}
	return Answer{Status: status, Header: header, Body: body}, nil
}

// captured runs a standard handler and keeps what it writes.
func (e *endpoint) captured(h http.HandlerFunc, r *Request) Work {
	return func(ctx context.Context) (*Response, error) {
		c := newCapture(e.guard.policy.ResponseMax)
		h(c, r.reread(r.http.WithContext(ctx)))
		return c.response(), nil
	}
}

// plain runs work without a key.
func (e *endpoint) plain(work Work) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		response, err := work(r.Context())
		if err != nil {
			return err
		}
		if response == nil {
			response = &Response{}
		}
		for name, values := range response.Header {
			w.Header()[http.CanonicalHeaderKey(name)] = values
		}
		status := response.Status
		if status == 0 {
			status = e.route.Status
		}
		w.WriteHeader(status)
		if bodyAllowed(status) {
			w.Write(response.Body)
		}
		return nil
	}
}

// refuse answers a request that no row decides.
func (e *endpoint) refuse(w http.ResponseWriter, r *http.Request, principal string, err error) {
	e.observeRefusal(r.Context(), principal, err)
	answer := errorAnswer(e.guard.policy.Errors, err)
	if answer.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", e.guard.engine.settings.challenge)
	}
	e.write(w, answer, false)
}

func (e *endpoint) observeRefusal(ctx context.Context, principal string, err error) {
	e.guard.refused(ctx, ID{Principal: principal}, err)
}

// write sends an answer.
func (e *endpoint) write(w http.ResponseWriter, a Answer, replayed bool) {
	header := w.Header()
	for i, field := range a.Header {
		if i > 0 && a.Header[i-1].Name == field.Name {
			header.Add(field.Name, field.Value)
		} else {
			header.Set(field.Name, field.Value)
		}
	}
	if replayed {
		header.Set(e.guard.policy.ReplayMarker, "true")
	}
	w.WriteHeader(a.Status)
	if bodyAllowed(a.Status) {
		w.Write(a.Body)
	}
}

// droppedHeaders remembers which dropped headers were warned about. A handler
// that makes names up is warned about up to a bound.
type droppedHeaders struct {
	mu    sync.Mutex
	names map[string]bool
}

const maxDroppedHeaders = 64

func (d *droppedHeaders) first(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names[name] || len(d.names) >= maxDroppedHeaders {
		return false
	}
	if d.names == nil {
		d.names = map[string]bool{}
	}
	d.names[name] = true
	return true
}
