package runtime

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// overdueRig is an engine of which the overdue handlers are noted: by their
// key, and when.
func overdueRig(t *testing.T) (*Engine, func() []string) {
	var mu sync.Mutex
	var noted []string
	start := time.Now()
	e, err := NewEngine(noLedger{}, WithLogger(slog.New(slog.DiscardHandler)), WithObserver(ObserverFunc(func(_ context.Context, e Event) {
		if e.Kind == EventOverdue {
			mu.Lock()
			defer mu.Unlock()
			noted = append(noted, e.Principal+" "+time.Since(start).String())
		}
	})))
	if err != nil {
		t.Fatal(err)
	}
	return e, func() []string {
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(noted)
		return noted
	}
}

// noLedger is there to be in an engine.
type noLedger struct{ Ledger }

// stay runs work that returns after a time, under a deadline.
func stay(e *Engine, name string, timeout, stays time.Duration) {
	g := &Guard{engine: e, policy: DefaultPolicy("op")}
	g.policy.Timeout = timeout
	h := &held{sent: time.Now(), fence: Fence{ID: ID{Principal: name}}}
	g.run(context.Background(), h, &outcome{}, workFunc(func(context.Context) (Answer, error) {
		time.Sleep(stays)
		return Answer{}, nil
	}))
}

// One timer serves handlers of many deadlines, in whatever order they come.
func TestOverdueHandlersAreReportedAtTheirDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, noted := overdueRig(t)
		var group sync.WaitGroup
		run := func(name string, timeout, stays time.Duration) {
			group.Go(func() { stay(e, name, timeout, stays) })
			synctest.Wait()
		}
		run("late", 10*time.Second, 20*time.Second)
		run("early", 2*time.Second, 20*time.Second)
		run("in time", 5*time.Second, 4*time.Second)
		run("too", 10*time.Second, 11*time.Second)
		time.Sleep(3 * time.Second)
		run("joins", time.Second, 2*time.Second)
		group.Wait()
		want := []string{"early 2s", "joins 4s", "late 10s", "too 10s"}
		if got := noted(); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		// The timer, which has found nothing more to do, is set again.
		stay(e, "again", time.Second, 2*time.Second)
		if got := noted(); len(got) != 5 {
			t.Errorf("got %q", got)
		}
		if left := len(e.overdue.queue); left != 0 {
			t.Errorf("%d are still watched", left)
		}
	})
}

// A handler's context outlives neither its deadline nor the handler, whenever
// it is looked at.
func TestContextOfAHandlerThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, _ := overdueRig(t)
		for name, c := range map[string]struct {
			stays time.Duration
			want  error
		}{"in time": {time.Second, context.Canceled}, "overdue": {3 * time.Second, context.DeadlineExceeded}} {
			g := &Guard{engine: e, policy: DefaultPolicy("op")}
			g.policy.Timeout = 2 * time.Second
			var kept context.Context
			g.run(context.Background(), &held{sent: time.Now()}, &outcome{}, workFunc(func(ctx context.Context) (Answer, error) {
				time.Sleep(c.stays)
				kept = ctx
				return Answer{}, nil
			}))
			<-kept.Done()
			if !errors.Is(kept.Err(), c.want) || !errors.Is(context.Cause(kept), c.want) {
				t.Errorf("%s: %v, %v", name, kept.Err(), context.Cause(kept))
			}
		}
	})
}
