package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// Event is one thing that happened. Fields that do not apply are zero.
type Event struct {
	Step    int
	At      time.Duration // virtual time since the world began
	Jumps   int           // how often the ledger's clock had jumped
	Kind    Kind
	Request int // on whose behalf; 0: nobody's
	Clock   int64

	Fence    runtime.Fence
	Terms    runtime.Terms
	Fencing  int64
	Answer   runtime.StoredAnswer
	Body     int           // of the request that was sent
	Deadline time.Duration // of a run's context, as At
	Outcome  outcome       // of a run
	Replayed bool
	Code     string // of an answer that is the engine's own
	ByHand   bool   // an effect of a handler that ended its transaction
	Open     int    // transactions of the request that had not ended when it ran
	Alive    []int  // requests that run under the key and have not been told to stop
	Err      error
	Text     string
}

// Kind says what happened.
type Kind string

// What the table tells. Each of these is a change that stands.
const (
	Inserted   Kind = "inserted"
	TakenOver  Kind = "taken over"
	Reused     Kind = "reused"
	Renewed    Kind = "renewed"
	Completed  Kind = "completed"
	Released   Kind = "released"
	LeaseEnded Kind = "lease ended"
	Dropped    Kind = "answer dropped"
	Deleted    Kind = "deleted"
	Effect     Kind = "effect stands"            // of a transaction
	Opened     Kind = "claimed in a transaction" // stands with its commit
)

// What requests tell, and what the world does to them.
const (
	Sent        Kind = "request sent"
	RunBegan    Kind = "run began"
	RunEnded    Kind = "run ended"
	Conflict    Kind = "met another transaction" // so that the request's own was rolled back
	EndedByHand Kind = "transaction ended by its handler"
	Hidden      Kind = "end by hand hidden" // the connection is lost, and with it all trace of it
	Answered    Kind = "request answered"
	Cut         Kind = "connection cut" // by the handler: the client has no answer
	Failed      Kind = "statement failed"
	Repeated    Kind = "statement repeated" // by the ledger's own client
	Killed      Kind = "process killed"
	Died        Kind = "process died" // with this request in it, or what the request left to do
	Jumped      Kind = "clock jumped"
	CutOff      Kind = "standby cut off"
	CaughtUp    Kind = "standby caught up"
	FailedOver  Kind = "failed over to the standby"
	AtRest      Kind = "all is at rest" // but for the last look at each key
	Unanswered  Kind = "request never answered"
	Unsettled   Kind = "engine never settled"
)

// String is a line of a report.
func (e Event) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%4d %9s", e.Step, e.At.Round(time.Millisecond))
	if e.Request > 0 {
		fmt.Fprintf(&b, " r%d", e.Request)
	}
	fmt.Fprintf(&b, " %s", e.Kind)
	if e.Fence.Key != "" {
		fmt.Fprintf(&b, " %s/%s", e.Fence.Principal, e.Fence.Key)
	}
	if e.Fence.Generation > 0 {
		fmt.Fprintf(&b, " generation=%d", e.Fence.Generation)
	}
	if e.Fencing > 0 {
		fmt.Fprintf(&b, " fencing=%d", e.Fencing)
	}
	if e.Clock > 0 {
		fmt.Fprintf(&b, " clock=%d", e.Clock)
	}
	if e.Kind == Sent {
		fmt.Fprintf(&b, " body=%d", e.Body)
	}
	if e.Deadline > 0 {
		fmt.Fprintf(&b, " deadline=%s", e.Deadline.Round(time.Millisecond))
	}
	if e.Outcome != "" {
		fmt.Fprintf(&b, " %s", e.Outcome)
	}
	if e.Answer.Status > 0 {
		fmt.Fprintf(&b, " %d %.40q", e.Answer.Status, e.Answer.Body)
	}
	if len(e.Alive) > 0 {
		fmt.Fprintf(&b, " while running: %v", e.Alive)
	}
	if e.Replayed {
		b.WriteString(" replayed")
	}
	if e.ByHand {
		b.WriteString(" by hand")
	}
	if e.Open > 0 {
		fmt.Fprintf(&b, " with %d open transactions", e.Open)
	}
	if e.Text != "" {
		fmt.Fprintf(&b, " %s", e.Text)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, " %v", e.Err)
	}
	return b.String()
}

func compareIDs(a, b runtime.ID) int {
	if c := strings.Compare(a.Principal, b.Principal); c != 0 {
		return c
	}
	return strings.Compare(a.Key, b.Key)
}
