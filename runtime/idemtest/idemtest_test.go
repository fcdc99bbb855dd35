package idemtest_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	idem "github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/idemtest"
)

// service counts its runs and answers with their number.
type service struct {
	http.Handler
	clock *idemtest.Clock
	runs  int
	ended error // of the handler's context at its end
}

func newService(t *testing.T, change func(*idem.Policy), answer func(w http.ResponseWriter, run int)) *service {
	t.Helper()
	ledger, clock := idemtest.Memory()
	p := idem.DefaultPolicy("POST /orders")
	if change != nil {
		change(&p)
	}
	m, err := idem.NewMiddleware(p, ledger, func(*http.Request) (string, error) { return "alice", nil },
		idem.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	s := &service{clock: clock}
	s.Handler = m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.runs++
		s.ended = r.Context().Err()
		answer(w, s.runs)
	}))
	return s
}

func created(w http.ResponseWriter, run int) {
	w.Header().Set("Location", "/orders/7")
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, "run %d", run)
}

func order(key string) *http.Request {
	r := httptest.NewRequest("POST", "/orders", strings.NewReader("tea"))
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	return r
}

func TestHelpers(t *testing.T) {
	s := newService(t, nil, created)
	r := order("retry")
	if w := idemtest.Retry(t, s, r); w.Body.String() != "run 1" || w.Code != 201 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := idemtest.Send(t, s, r); w.Body.String() != "run 1" {
		t.Errorf("the request's body was used up: %s", w.Body)
	}
	idemtest.LoseAnswer(t, s, order("lost"))
	if w := idemtest.Send(t, s, order("lost")); w.Body.String() != "run 2" {
		t.Errorf("%s", w.Body)
	}
	idemtest.HangUp(t, s, order("hang up"))
	if w := idemtest.Send(t, s, order("hang up")); w.Body.String() != "run 3" || s.ended != nil {
		t.Errorf("%s, the handler's context: %v", w.Body, s.ended)
	}
	if w := idemtest.Takeover(t, s, order("takeover")); w.Body.String() != "run 5" || w.Code != 201 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	idemtest.Retry(t, s, order("again"))
	s.clock.Advance(t, 25*time.Hour)
	if w := idemtest.Retry(t, s, order("again")); w.Body.String() != "run 7" {
		t.Errorf("%s", w.Body)
	}
}

// report is a test that notes what it was told.
type report struct {
	testing.TB
	said string
}

func (r *report) Helper() {}

func (r *report) Errorf(format string, args ...any) { r.said += fmt.Sprintf(format, args...) }

func (r *report) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// said is what a helper tells its test.
func said(helper func(t testing.TB)) string {
	r := &report{}
	done := make(chan struct{})
	go func() { defer close(done); helper(r) }()
	<-done
	return r.said
}

func TestHelpersNotice(t *testing.T) {
	changing := func(w http.ResponseWriter, run int) {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintf(w, "run %d", run)
	}
	released := func(p *idem.Policy) { p.Failure = idem.FailureRelease }
	for what, c := range map[string]struct {
		helper func(t testing.TB)
		says   string
	}{
		"an answer that changes": {func(t testing.TB) {
			idemtest.Retry(t, newService(&testing.T{}, released, changing), order("k"))
		}, `the first answer was 503 "run 1", the retry got 503 "run 2"`},
		"an answer that is not stored": {func(t testing.TB) {
			idemtest.Retry(t, newService(&testing.T{}, released, func(w http.ResponseWriter, _ int) { w.WriteHeader(503) }), order("k"))
		}, "nothing marks the second answer as a replay"},
		"a request that is refused": {func(t testing.TB) {
			idemtest.Takeover(t, newService(&testing.T{}, nil, created), order(""))
		}, "did not run under a claim of its own: it was answered with 400"},
		"a request that is replayed": {func(t testing.TB) {
			s := newService(&testing.T{}, nil, created)
			idemtest.Send(t, s, order("k"))
			idemtest.HangUp(t, s, order("k"))
		}, `it was answered with 201 "run 1"`},
		"a handler that panics": {func(t testing.TB) {
			idemtest.Takeover(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("no") }), order("k"))
		}, "the handler panicked: no"},
		"a clock that is set back": {func(t testing.TB) {
			_, clock := idemtest.Memory()
			clock.Advance(t, -time.Second)
		}, "moved forward"},
		"a table that is no name": {func(t testing.TB) {
			idemtest.SQLClock(t, nil, "keys; DROP TABLE keys")
		}, "is no table's name"},
	} {
		if got := said(c.helper); !strings.Contains(got, c.says) {
			t.Errorf("%s: the test is told %q, want %q", what, got, c.says)
		}
	}
}

// A handler's mark outside of EveryBoundary does nothing.
func TestBoundaryOutside(t *testing.T) { idemtest.Boundary(context.Background(), "charged") }
