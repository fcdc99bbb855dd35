package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/memory"
)

func newOperator(t *testing.T, g *rig) *runtime.Operator {
	t.Helper()
	o, err := runtime.NewOperator(g.ledger.Ledger.(*memory.Ledger),
		runtime.WithLogger(slog.New(slog.NewTextHandler(g.log, nil))), runtime.WithKeyHashSecret([]byte("0123456789abcdef")))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func held(context.Context) (*runtime.Response, error) { return nil, runtime.Hold(errors.New("unsure")) }

var wedged = runtime.ID{Principal: "alice", Key: "wedged"}

func TestOperatorReleases(t *testing.T) {
	g := newRig(t)
	o := newOperator(t, g)
	do(g.typed(policy(), held), request("wedged", ""))
	g.clock.move(10 * time.Second)
	report, found, err := o.Report(context.Background(), wedged)
	if err != nil || !found || report.State != runtime.StatePending || report.OwnerAge != 10*time.Second ||
		report.LeaseLeft != 20*time.Second || report.Operation != "POST /v1/orders" {
		t.Fatalf("%+v, %v, %v", report, found, err)
	}
	other := report.Fence
	other.Generation++
	if ok, err := o.Release(context.Background(), other); ok || err != nil {
		t.Errorf("released under another fence: %v, %v", ok, err)
	}
	if ok, err := o.Release(context.Background(), report.Fence); !ok || err != nil {
		t.Errorf("release: %v, %v", ok, err)
	}
	if w := do(g.typed(policy(), created), request("wedged", "")); w.Code != 201 {
		t.Errorf("afterwards %d", w.Code)
	}
	if log := g.log.String(); strings.Count(log, "operator released a claim") != 2 || strings.Contains(log, "wedged") {
		t.Errorf("log: %s", log)
	}
}

func TestOperatorCompletes(t *testing.T) {
	g := newRig(t)
	o := newOperator(t, g)
	do(g.typed(policy(), held), request("wedged", ""))
	g.clock.move(time.Hour)
	report, _, err := o.Report(context.Background(), wedged)
	if err != nil || report.State != runtime.StateStale {
		t.Fatalf("%+v, %v", report, err)
	}
	answer := runtime.Answer{Status: 201, Header: runtime.Header{{Name: "Content-Type", Value: "text/plain"}}, Body: []byte("done by hand")}
	if ok, err := o.Complete(context.Background(), report.Fence, answer, runtime.Terms{Retain: time.Hour}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if w := do(g.typed(policy(), created), request("wedged", "")); w.Code != 201 || w.Body.String() != "done by hand" || g.runs != 1 {
		t.Errorf("%d %s, %d runs", w.Code, w.Body, g.runs)
	}
	report, _, _ = o.Report(context.Background(), wedged)
	if report.State != runtime.StateCompleted || report.Status != 201 || report.AnswerBytes != int64(len("Content-Type: text/plain\ndone by hand")) {
		t.Errorf("%+v", report)
	}
	if got, found, err := o.Answer(context.Background(), wedged); err != nil || !found || string(got.Body) != "done by hand" {
		t.Errorf("%+v, %v, %v", got, found, err)
	}
}

func TestOperatorCountsErasesAndSweeps(t *testing.T) {
	g := newRig(t)
	o := newOperator(t, g)
	for i := range 3 {
		do(g.typed(policy(), created), request(fmt.Sprint("done", i), ""))
	}
	do(g.typed(policy(), held), request("stale", ""))
	g.clock.move(time.Minute)
	do(g.typed(policy(), held), request("pending", ""))
	counts, err := o.Counts(context.Background())
	want := []runtime.Count{
		{Operation: "POST /v1/orders", State: runtime.StateCompleted, Rows: 3},
		{Operation: "POST /v1/orders", State: runtime.StatePending, Rows: 1},
		{Operation: "POST /v1/orders", State: runtime.StateStale, Rows: 1},
	}
	if err != nil || !slices.Equal(counts, want) {
		t.Errorf("%v, %v", counts, err)
	}
	if n, err := o.Erase(context.Background(), "bob"); n != 0 || err != nil {
		t.Errorf("bob: %d, %v", n, err)
	}
	if n, err := o.Erase(context.Background(), "alice"); n != 4 || err != nil {
		t.Errorf("alice: %d, %v; want 4: one is running", n, err)
	}
	g.clock.move(48 * time.Hour)
	if n, err := o.Sweep(context.Background()); n != 1 || err != nil {
		t.Errorf("sweep: %d, %v", n, err)
	}
}
