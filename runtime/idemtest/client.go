package idemtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/runtime/internal/boundary"
)

// Send serves a copy of the request, which may be sent again.
func Send(t testing.TB, h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, again(t, r))
	return w
}

// Retry sends a request and sends it again, as a client does whose answer was
// lost. The second answer must be a replay that repeats the first one byte for
// byte. It returns the first answer.
func Retry(t testing.TB, h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	first := Send(t, h, r)
	if difference := differs(first.Result(), first.Body.Bytes(), Send(t, h, r)); difference != "" {
		t.Errorf("idemtest: Retry: %s", difference)
	}
	return first
}

// differs says in what a second answer is no replay of the first.
func differs(first *http.Response, body []byte, second *httptest.ResponseRecorder) string {
	again := second.Result()
	if first.StatusCode != again.StatusCode || !bytes.Equal(body, second.Body.Bytes()) {
		return fmt.Sprintf("the first answer was %d %q, the retry got %d %q", first.StatusCode, body, again.StatusCode, second.Body.Bytes())
	}
	marked := false
	for name, values := range again.Header {
		switch {
		case slices.Equal(values, first.Header[name]):
			// The first answer may have been a replay already.
			marked = marked || len(values) == 1 && values[0] == "true"
		case first.Header[name] == nil && len(values) == 1 && values[0] == "true" && !marked:
			marked = true // the marker of replays, whatever its name
		default:
			return fmt.Sprintf("the retry's header %s is %q, the first answer's was %q", name, values, first.Header[name])
		}
	}
	for name, values := range first.Header {
		if again.Header[name] == nil {
			return fmt.Sprintf("the retry lacks the header %s, which was %q", name, values)
		}
	}
	if !marked {
		return fmt.Sprintf("nothing marks the second answer as a replay: it is %d %q; was the first one stored?", again.StatusCode, body)
	}
	return ""
}

// LoseAnswer sends a request whose answer is lost on its way: the handler is
// served to its end, and its client has learnt nothing.
func LoseAnswer(t testing.TB, h http.Handler, r *http.Request) {
	t.Helper()
	h.ServeHTTP(&lost{header: http.Header{}}, again(t, r))
}

// HangUp sends a request whose client hangs up while the handler runs: the
// request's context is cancelled just before the work on it begins.
func HangUp(t testing.TB, h http.Handler, r *http.Request) {
	t.Helper()
	hungUp := false
	ctx, hangUp := context.WithCancel(r.Context())
	defer hangUp()
	ctx = boundary.With(ctx, func(p boundary.Point) {
		if p.Name == boundary.BeforeHandler {
			hungUp = true
			hangUp()
		}
	})
	w := &lost{header: http.Header{}}
	h.ServeHTTP(w, again(t, r).WithContext(ctx))
	if !hungUp {
		t.Fatalf("idemtest: HangUp: the request did not run under a claim of its own: it was answered with %s", w)
	}
}

// again is a copy of a request with a body of its own. The request's body is
// read and put back.
func again(t testing.TB, r *http.Request) *http.Request {
	t.Helper()
	clone := r.Clone(r.Context())
	if r.Body == nil || r.Body == http.NoBody {
		return clone
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatalf("idemtest: the request's body: %v", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	clone.Body = io.NopCloser(bytes.NewReader(body))
	return clone
}

// lost is a ResponseWriter whose connection has broken. What it was told is
// kept for the messages of tests.
type lost struct {
	header http.Header
	status int
	said   strings.Builder
}

func (l *lost) Header() http.Header { return l.header }

func (l *lost) WriteHeader(status int) { l.status = status }

func (l *lost) Write(p []byte) (int, error) {
	l.said.Write(p)
	return 0, errLost
}

func (l *lost) String() string { return fmt.Sprintf("%d %q", l.status, l.said.String()) }

var errLost = errors.New("idemtest: the connection was lost")
