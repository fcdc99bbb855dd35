package runtime

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// answer keeps of a response what a replay can repeat, its header in memory
// where that is enough.
func (e *endpoint) answer(ctx context.Context, response *Response, memory Header) (Answer, error) {
	status := response.Status
	if status == 0 {
		status = e.route.Status
	}
	set := regular(response.Header)
	header, dropped := e.guard.policy.keep(memory, status, set)
	for _, name := range dropped {
		if e.dropped.first(name) {
			advice := "list it in replay= or do not set it"
			if why := unreplayable(strings.ToLower(name)); why != "" {
				advice = "do not set it: " + why
			}
			e.guard.engine.settings.say(notedBy(ctx), slog.LevelWarn,
				"a response header is dropped, because replays cannot repeat it; "+advice,
				slog.String("operation", e.guard.policy.Operation), slog.String("header", name))
		}
	}
	body := response.Body
	if !bodyAllowed(status) {
		body = nil
	}
	_, typed := set["Content-Type"]
	if !typed && len(body) > 0 && header.Get("Content-Encoding") == "" {
		header = append(Header{{"Content-Type", http.DetectContentType(body)}}, header...)
	}
	return Answer{Status: status, Header: header, Body: body}, nil
}

// regular is a header with all names in canonical form and one type at most.
// Lines of one name under several spellings come in the order of those.
func regular(h http.Header) http.Header {
	isRegular := len(h["Content-Type"]) < 2
	for name := range h {
		isRegular = isRegular && name == http.CanonicalHeaderKey(name)
	}
	if isRegular {
		return h
	}
	all := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		canonical := http.CanonicalHeaderKey(name)
		all[canonical] = append(all[canonical], h[name]...)
	}
	if types := all["Content-Type"]; len(types) > 1 {
		all["Content-Type"] = types[:1]
	}
	return all
}

// captured runs a standard handler and keeps what it writes.
func (e *endpoint) captured(h http.HandlerFunc, r *Request) Work {
	return func(ctx context.Context) (*Response, error) {
		c := newCapture(e.guard.policy.ResponseMax)
		c.flushed = func() { e.flushed(ctx) }
		guarded := readable(r.http.WithContext(ctx), r.Body, nil)
		guarded.Header = e.guardedHeader(r.http.Header)
		defer removeUploads(guarded)
		h(c, guarded)
		return c.response(), nil
	}
}

// guardedHeader is what a standard handler sees of a header: the allowlisted
// ones as they are compared, and no Accept-Encoding, because the answer is kept
// for clients that may not take the same encodings.
func (e *endpoint) guardedHeader(sent http.Header) http.Header {
	seen := maps.Clone(sent)
	delete(seen, "Accept-Encoding")
	for _, name := range e.guard.policy.Fingerprint.Headers {
		canonical := http.CanonicalHeaderKey(name)
		lines, sent := seen[canonical]
		if !sent {
			continue
		}
		if seen[canonical] = compared(lines); len(seen[canonical]) == 0 {
			delete(seen, canonical)
		}
	}
	return seen
}

// flushed says that a handler tried to stream its answer, which is held back
// until it is stored.
func (e *endpoint) flushed(ctx context.Context) {
	running := runningFrom(ctx)
	ctx = notedBy(ctx)
	e.guard.observe(ctx, running.id, Event{Kind: EventFlushed, Generation: running.generation})
	e.flushOnce.Do(func() {
		e.guard.log(ctx, slog.LevelWarn, running.id, "a handler flushes its answer, which is held back until it is stored: nothing streams under a key; this is said once for each endpoint")
	})
}

// plain runs work without a key.
func (e *endpoint) plain(w http.ResponseWriter, r *http.Request, work Work) error {
	response, err := work(r.Context())
	if err != nil {
		return err
	}
	if response == nil {
		response = &Response{}
	}
	status := response.Status
	if status == 0 {
		status = e.route.Status
	}
	if _, err := (Answer{Status: status}).checked(); err != nil {
		return err
	}
	maps.Copy(w.Header(), regular(response.Header))
	w.WriteHeader(status)
	if bodyAllowed(status) {
		w.Write(response.Body)
	}
	return nil
}

// refuse answers a request that no row decides.
func (x *exchange) refuse(w http.ResponseWriter, r *http.Request, principal string, err error) {
	e := x.endpoint
	e.observeRefusal(r.Context(), principal, err)
	if errors.Is(err, errEncoded) {
		w.Header().Set("Accept-Encoding", e.guard.policy.acceptEncoding())
	}
	x.deny(w, e.guard.refusalAnswer(r.Context(), err))
}

// deny sends an error answer to a request that did not reach its row.
func (x *exchange) deny(w http.ResponseWriter, answer Answer) {
	if answer.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", x.endpoint.guard.engine.settings.challenge)
	}
	x.write(w, answer, false)
}

// refusePlain answers for work without a key that failed.
func (x *exchange) refusePlain(w http.ResponseWriter, r *http.Request, principal string, err error) {
	e := x.endpoint
	e.observeRefusal(r.Context(), principal, err)
	s := &e.guard.engine.settings
	p := s.problemOf(err)
	p.Retry = retryOfPlain(p.Status)
	x.deny(w, s.render(r.Context(), e.guard.policy.Errors, p))
}

func (e *endpoint) observeRefusal(ctx context.Context, principal string, err error) {
	e.guard.refused(ctx, ID{Principal: principal}, err)
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
