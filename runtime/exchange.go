package runtime

import (
	"context"
	"net/http"

	"github.com/idemgen/idemgen/runtime/internal/boundary"
)

// exchange is one request on its way to its answer: what is kept for it, in
// one piece of memory. That is never used for another request, because a
// handler may hold on to its request, and a server to the header that it sent.
type exchange struct {
	endpoint *endpoint // nil where the call did not come by HTTP
	request  *Request
	own      Request // request's memory, unless its body is to be let go of
	incoming *http.Request
	parts    FingerprintParts
	digest   [32]byte // of the parts under the guard's rule
	digested bool     // digest was taken
	// other is the digest under the rule of a row that was met.
	other     [32]byte
	otherRule string
	forgotten bool // the body is not in parts any more
	// otherCase says that the method is not in upper case.
	otherCase bool
	work      Work
	attempt   attempt
	outcome   outcome
	header    [4]HeaderField // of the answer, where it has no more
	taken     bool           // header is in use
	lines     [5]string      // its values as net/http takes them
}

// take keeps a request that was read.
func (x *exchange) take(r *http.Request, body []byte) {
	policy := &x.endpoint.guard.policy
	if policy.Wait > 0 {
		x.request = new(Request)
	}
	*x.request, x.incoming = newRequest(r, policy.Fingerprint, body), r
	// What prepares and works may change what it was given.
	x.parts = FingerprintParts{Method: r.Method, URI: x.request.URI, Host: r.Host, Header: r.Header, Body: body}
}

// forget lets go of the body, of which the digest is all that a duplicate needs
// while it waits: many may wait, for long. Work that needs the body itself, as
// that of raw and standard handlers, holds on to the request that it was given.
func (x *exchange) forget() {
	if x.endpoint == nil || !x.digested || len(x.parts.Body) == 0 {
		return
	}
	light := *x.request
	light.Body = nil
	x.request, x.parts.Body, x.forgotten = &light, nil, true
	rewind(x.incoming, nil, nil)
	x.incoming.Form, x.incoming.PostForm = nil, nil
}

// takeHeader is memory for an answer's header, once.
func (x *exchange) takeHeader() Header {
	if x == nil || x.taken {
		return nil
	}
	x.taken = true
	return x.header[:0]
}

// worker is work on a claim.
type worker interface {
	run(context.Context) (Answer, error)
}

// workFunc is a function that works.
type workFunc func(context.Context) (Answer, error)

func (f workFunc) run(ctx context.Context) (Answer, error) { return f(ctx) }

// run implements worker.
func (x *exchange) run(ctx context.Context) (Answer, error) { return x.respond(ctx, x.work) }

// respond turns the response of work into the answer that is stored.
func (x *exchange) respond(ctx context.Context, work Work) (Answer, error) {
	response, err := work(ctx)
	if err != nil {
		return Answer{}, err
	}
	if response == nil {
		response = &Response{}
	}
	return x.endpoint.answer(ctx, response, x.takeHeader())
}

// replays reports whether a stored header is sent: one that was taken off the
// list since is not. Retry-After is on no list, it belongs to error answers.
func (x *exchange) replays(canonical string) bool {
	return canonical == "Retry-After" || x.endpoint.guard.policy.keeps(canonical)
}

// write sends an answer.
func (x *exchange) write(w http.ResponseWriter, a Answer, replayed bool) {
	if boundary.Armed() {
		ctx := x.request.context()
		boundary.Reach(ctx, boundary.BeforeAnswer)
		defer boundary.Reach(ctx, boundary.AfterAnswer)
	}
	lines := x.lines[:0]
	if len(a.Header) >= len(x.lines) {
		lines = make([]string, 0, len(a.Header)+1)
	}
	// One value of a header; a header with more is appended to, which copies.
	line := func(value string) []string {
		lines = append(lines, value)
		return lines[len(lines)-1 : len(lines) : len(lines)]
	}
	header := w.Header()
	for i, field := range a.Header {
		if replayed && !x.replays(field.Name) {
			continue
		}
		if i > 0 && a.Header[i-1].Name == field.Name {
			header.Add(field.Name, field.Value)
		} else {
			header[http.CanonicalHeaderKey(field.Name)] = line(field.Value)
		}
	}
	if replayed {
		header[http.CanonicalHeaderKey(x.endpoint.guard.policy.ReplayMarker)] = line("true")
	}
	w.WriteHeader(a.Status)
	if bodyAllowed(a.Status) {
		w.Write(a.Body)
	}
}
