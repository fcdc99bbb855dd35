package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
)

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
func (e *endpoint) plain(w http.ResponseWriter, r *http.Request, work Work) error {
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
