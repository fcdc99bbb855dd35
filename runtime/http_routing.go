package runtime

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// pattern is the route as [http.ServeMux] writes it.
func (r *Route) pattern() string { return strings.TrimSpace(r.Method + " " + r.Pattern) }

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

// ServeHTTP implements http.Handler. Whatever router the endpoint is mounted
// on, its wildcards are those of its own pattern: routers differ in whether
// they tell them and in what they make of escapes.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(e.wildcards) == 0 || r.Pattern == e.route.pattern() {
		e.serve(w, r)
		return
	}
	if _, matches := e.mux.Handler(r); matches != "" {
		e.mux.ServeHTTP(w, r)
		return
	}
	if e.filled(r) {
		e.serve(w, r)
		return
	}
	e.misplaced(w, r)
}

// filled reports whether a router has told all wildcards of a path that is not
// the endpoint's own, below a prefix for one. A value that stands in the path as
// it is was not unescaped, as ServeMux would have done.
func (e *endpoint) filled(r *http.Request) bool {
	segments := strings.Split(r.URL.EscapedPath(), "/")
	for _, name := range e.wildcards {
		value := r.PathValue(name)
		if value == "" {
			return false
		}
		if strings.Contains(value, "%") && slices.Contains(segments, value) {
			if unescaped, err := url.PathUnescape(value); err == nil {
				r.SetPathValue(name, unescaped)
			}
		}
	}
	return true
}

// maxLoggedPath bounds what a log line repeats of a path.
const maxLoggedPath = 200

// misplaced answers a request whose path gives no values for the wildcards. The
// log says so once: every request of that mount will end here.
func (e *endpoint) misplaced(w http.ResponseWriter, r *http.Request) {
	e.mounted.Do(func() {
		mounted := r.Pattern
		if mounted == "" {
			mounted = r.URL.EscapedPath()
		}
		e.guard.engine.settings.say(r.Context(), slog.LevelError,
			"an endpoint is mounted at a path that does not match its own, so that its wildcards have no values; "+
				"mount it at its own path, below a prefix inside http.StripPrefix, or change prefix= or the pattern",
			slog.String("operation", e.guard.policy.Operation), slog.String("declared", e.route.pattern()),
			slog.String("mounted", mounted[:min(len(mounted), maxLoggedPath)]))
	})
	x := &exchange{endpoint: e}
	x.refuse(w, r, "", noSuchEndpoint(r))
}

func noSuchEndpoint(r *http.Request) *Error {
	return &Error{Status: 404, Code: CodeEndpointUnknown, Message: "There is no " + knownMethod(r.Method) + " at this path."}
}

// knownMethod is a method that an answer may repeat.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "such method"
}

// Unmatched answers requests that none of the server's endpoints serves: 404,
// or 405 with Allow where the path has another method. Mount it at "/" on the
// ServeMux that the endpoints are mounted on.
func (s *Server) Unmatched() http.Handler {
	probe := http.NewServeMux()
	s.mu.Lock()
	defer s.mu.Unlock()
	form := s.form
	for _, route := range s.routes {
		probe.Handle(route.pattern(), http.NotFoundHandler())
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refusal := noSuchEndpoint(r)
		handler, _ := probe.Handler(r)
		found := newCapture(0)
		handler.ServeHTTP(found, r)
		if allow := found.header.Get("Allow"); found.status == http.StatusMethodNotAllowed && allow != "" {
			w.Header().Set("Allow", allow)
			refusal = &Error{Status: 405, Code: CodeMethodNotAllowed, Message: fmt.Sprintf("This path takes %s.", allow)}
		}
		settings := &s.engine.settings
		p := settings.problemOf(refusal)
		p.Retry = retryOfRefusal(p.Code, p.Status)
		answer := settings.render(r.Context(), form, p)
		for _, field := range answer.Header {
			w.Header().Set(field.Name, field.Value)
		}
		w.WriteHeader(answer.Status)
		w.Write(answer.Body)
	})
}
