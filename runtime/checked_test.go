package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// unfit are answers that no replay could send.
var unfit = map[string]runtime.Answer{
	"a status below all":   {Status: 42},
	"a negative status":    {Status: -1},
	"an interim status":    {Status: 103},
	"a status above all":   {Status: 1000},
	"a name with a space":  {Status: 201, Header: runtime.Header{{Name: "Bad Name", Value: "v"}}},
	"a name with a colon":  {Status: 201, Header: runtime.Header{{Name: "Bad:", Value: "v"}}},
	"an empty name":        {Status: 201, Header: runtime.Header{{Name: "Good", Value: "v"}, {Name: "", Value: "v"}}},
	"a name of two lines":  {Status: 201, Header: runtime.Header{{Name: "A: 1\nB", Value: "v"}}},
	"an unfit error":       {Status: 422, Header: runtime.Header{{Name: "Bad Name", Value: "v"}}},
	"an unfit server side": {Status: 503, Header: runtime.Header{{Name: "Bad Name", Value: "v"}}},
}

// fit are answers that are made fit, and what is kept of them.
var fit = map[string]struct{ given, kept runtime.Answer }{
	"no status": {runtime.Answer{Body: []byte("b")}, runtime.Answer{Status: 200, Body: []byte("b")}},
	"a name in lower case": {
		runtime.Answer{Status: 201, Header: runtime.Header{{Name: "Location", Value: "/a"}, {Name: "x-total", Value: "1"}}},
		runtime.Answer{Status: 201, Header: runtime.Header{{Name: "Location", Value: "/a"}, {Name: "X-Total", Value: "1"}}}},
	"a value of two lines": {
		runtime.Answer{Status: 201, Header: runtime.Header{{Name: "Location", Value: "/a\r\nX: y"}}},
		runtime.Answer{Status: 201, Header: runtime.Header{{Name: "Location", Value: "/a  X: y"}}}},
	"what the server writes": {
		runtime.Answer{Status: 201, Header: runtime.Header{{Name: "Content-Length", Value: "99"}, {Name: "Location", Value: "/a"}, {Name: "connection", Value: "close"}}},
		runtime.Answer{Status: 201, Header: runtime.Header{{Name: "Location", Value: "/a"}}}},
	"a status of nobody": {runtime.Answer{Status: 799}, runtime.Answer{Status: 799}},
}

func newGuard(t *testing.T, ledger runtime.Ledger, p runtime.Policy, opts ...runtime.Option) *runtime.Guard {
	t.Helper()
	engine, err := runtime.NewEngine(ledger, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	guard, err := engine.Guard(p)
	if err != nil {
		t.Fatal(err)
	}
	return guard
}

// callOf is the call that request makes of a key.
func callOf(key string) runtime.Call {
	r := request(key, "")
	return runtime.Call{Principal: "alice", Key: key, Fingerprint: func(rule runtime.Rule) [32]byte {
		return rule.Fingerprint(runtime.FingerprintParts{Method: r.Method, URI: r.URL.RequestURI(), Host: r.Host, Header: r.Header})
	}}
}

func sameAnswer(a, b runtime.Answer) bool {
	return a.Status == b.Status && string(a.Body) == string(b.Body) && (len(a.Header)+len(b.Header) == 0 || reflect.DeepEqual(a.Header, b.Header))
}

func TestDoChecksItsAnswer(t *testing.T) {
	for name, answer := range unfit {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			guard := newGuard(t, g.ledger, policy())
			for _, failing := range []error{nil, errors.New("own"), &runtime.Error{Status: 404, Message: "No such cart."}} {
				key := fmt.Sprint("k", failing != nil, failing)
				first, err := guard.Do(t.Context(), callOf(key), func(context.Context) (runtime.Answer, error) { return answer, failing })
				want := 500
				if e := (*runtime.Error)(nil); errors.As(failing, &e) {
					want = 404
				}
				if err != nil || first.Answer.Status != want || first.Err == nil {
					t.Fatalf("%+v, %v; want an answer of %d and an error", first, err, want)
				}
				again, err := guard.Do(t.Context(), callOf(key), nil)
				if err != nil || !again.Replayed || !sameAnswer(first.Answer, again.Answer) {
					t.Errorf("again %+v, %v", again, err)
				}
				if w := do(g.typed(policy(), created), request(key, "")); w.Code != want || g.runs > 0 {
					t.Errorf("by HTTP %d %s", w.Code, w.Body)
				}
			}
		})
	}
	for name, answer := range fit {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			guard := newGuard(t, g.ledger, policy())
			first, err := guard.Do(t.Context(), callOf("k"), func(context.Context) (runtime.Answer, error) { return answer.given, nil })
			if err != nil || !sameAnswer(first.Answer, answer.kept) {
				t.Errorf("%+v, %v", first, err)
			}
			again, err := guard.Do(t.Context(), callOf("k"), nil)
			if err != nil || !sameAnswer(again.Answer, answer.kept) {
				t.Errorf("again %+v, %v", again, err)
			}
		})
	}
}

// An answer that cannot be kept takes its effect back where that is possible.
func TestTxChecksItsAnswer(t *testing.T) {
	for name, answer := range unfit {
		t.Run(name, func(t *testing.T) {
			g, l := newRig(t), &txLedger{}
			l.faulty = g.ledger
			guard := newGuard(t, l, txPolicy())
			first, err := runtime.DoTx(t.Context(), guard, l, callOf("k"), func(_ context.Context, tx *bookTx) (runtime.Answer, error) {
				tx.add("line")
				return answer, nil
			})
			if err != nil || first.Answer.Status != 500 {
				t.Fatalf("%+v, %v", first, err)
			}
			wantBook(t, l)
			if _, found, err := g.ledger.Read(t.Context(), runtime.ID{Principal: "alice", Key: "k"}); found || err != nil {
				t.Errorf("a row stands: %v", err)
			}
		})
	}
}

// A raw or a standard handler's status is checked with a key and without one.
func TestHandlersStatusIsChecked(t *testing.T) {
	for _, status := range []int{-1, 42, 103, 1000} {
		p := policy()
		p.KeyOptional = true
		g := newRig(t)
		raw := g.typed(p, func(context.Context) (*runtime.Response, error) {
			return &runtime.Response{Status: status, Header: http.Header{"X-Half": {"1"}}, Body: []byte("b")}, nil
		})
		for _, key := range []string{"k", ""} {
			w := do(raw, request(key, ""))
			wantCode(t, w, 500, "internal_error")
			if w.Header().Get("X-Half") != "" {
				t.Errorf("%d with key %q: %v", status, key, w.Header())
			}
		}
	}
	g := newRig(t)
	g.server.HandleFunc(policy(), runtime.Route{Method: "POST", Pattern: "/", Status: 42}, nil)
	if err := g.server.Err(); err == nil || !strings.Contains(err.Error(), "42") {
		t.Errorf("a route of status 42: %v", err)
	}
}

// A stored status that nothing of ours wrote is a clean 500.
func TestStoredStatusOutOfRange(t *testing.T) {
	for _, status := range []int{-1, 42, 103, 1000, 1 << 40} {
		g := newRig(t)
		do(g.typed(policy(), created), request("k", ""))
		g.ledger.read = func(ctx context.Context, id runtime.ID) (runtime.Row, bool, error) {
			row, found, err := g.ledger.Ledger.Read(ctx, id)
			row.Answer.Status = status
			return row, found, err
		}
		wantCode(t, do(g.typed(policy(), created), request("k", "")), 500, "internal_error")
		if g.runs != 1 {
			t.Errorf("%d runs", g.runs)
		}
	}
}

func TestOperatorChecksItsAnswer(t *testing.T) {
	for name, answer := range unfit {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			o := newOperator(t, g)
			do(g.typed(policy(), held), request("wedged", ""))
			report, _, err := o.Report(t.Context(), wedged)
			if err != nil {
				t.Fatal(err)
			}
			if ok, err := o.Complete(t.Context(), report.Fence, answer, runtime.Terms{}); ok || err == nil {
				t.Errorf("%v, %v", ok, err)
			}
			if report, _, _ := o.Report(t.Context(), wedged); report.State != runtime.StatePending {
				t.Errorf("the row is %s", report.State)
			}
		})
	}
	for name, answer := range fit {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			o := newOperator(t, g)
			do(g.typed(policy(), held), request("wedged", ""))
			report, _, err := o.Report(t.Context(), wedged)
			if err != nil {
				t.Fatal(err)
			}
			if ok, err := o.Complete(t.Context(), report.Fence, answer.given, runtime.Terms{}); !ok || err != nil {
				t.Fatal(ok, err)
			}
			if w := do(g.typed(policy(), created), request("wedged", "")); w.Code != answer.kept.Status || w.Body.String() != string(answer.kept.Body) || g.runs != 1 {
				t.Errorf("%d %s, %d runs", w.Code, w.Body, g.runs)
			}
		})
	}
}

// What a claim promised is kept by the operator's answer, too.
func TestOperatorKeepsThePromiseOfTheRow(t *testing.T) {
	const day = 24 * time.Hour
	p := policy()
	p.Retain, p.Gone = 7*day, 30*day
	for name, c := range map[string]struct {
		terms        runtime.Terms
		retain, gone time.Duration
	}{
		"nothing said": {runtime.Terms{}, p.Retain, p.Gone},
		"shorter":      {runtime.Terms{Retain: day, Gone: day}, p.Retain, p.Gone},
		"longer":       {runtime.Terms{Retain: 8 * day, Gone: 31 * day}, 8 * day, 31 * day},
		"negative":     {runtime.Terms{Retain: -day, Gone: -day}, p.Retain, p.Gone},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			o := newOperator(t, g)
			do(g.typed(p, held), request("wedged", ""))
			g.clock.move(time.Hour)
			report, _, err := o.Report(t.Context(), wedged)
			if err != nil {
				t.Fatal(err)
			}
			if ok, err := o.Complete(t.Context(), report.Fence, runtime.Answer{Status: 201}, c.terms); !ok || err != nil {
				t.Fatal(ok, err)
			}
			h := g.typed(p, created)
			g.clock.move(c.retain - time.Minute)
			if w := do(h, request("wedged", "")); w.Code != 201 {
				t.Errorf("before retention ends: %d %s", w.Code, w.Body)
			}
			g.clock.move(time.Minute)
			wantCode(t, do(h, request("wedged", "")), 410, "idempotency_key_expired")
			g.clock.move(c.gone - time.Minute)
			wantCode(t, do(h, request("wedged", "")), 410, "idempotency_key_expired")
			if g.runs != 1 {
				t.Errorf("%d runs", g.runs)
			}
			g.clock.move(time.Minute)
			if do(h, request("wedged", "")); g.runs != 2 {
				t.Errorf("past all: %d runs", g.runs)
			}
		})
	}
}
