package faults

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// outcome is what an answer says about its request.
type outcome int

const (
	unknown  outcome = iota // nothing: it may run, or have run, or not
	refused                 // it took no effect
	reused                  // the key belongs to another request
	ran                     // it ran, and this is its answer
	replayed                // it or another ran, and this was the answer
	observed                // no request: what the database holds
	strange                 // an answer that is not documented
	closed                  // it took no effect, and nothing runs under its key any more
)

// attempt is one request and what came of it.
type attempt struct {
	payment
	client       int
	sent, got    int64 // nanoseconds since the start of the run
	outcome      outcome
	answer       string // status and body of what ran
	generation   int64
	status       int
	code         string
	retryAfter   string
	body         string
	effectStands bool // what was observed
	mayClose     bool // the database may end a transaction by itself
}

// success reports whether the request was done, by this answer.
func (a *attempt) success() bool { return a.status/100 == 2 }

// read says what an answer tells about its request.
func (a *attempt) read(response *http.Response, body []byte) {
	a.status, a.body, a.retryAfter = response.StatusCode, string(body), response.Header.Get("Retry-After")
	if a.success() {
		if !strings.Contains(a.body, a.fill(a.request.Answer)) {
			a.outcome = strange
			return
		}
		if a.request.Generation != nil {
			a.generation = a.request.Generation(a.body)
		}
		a.final(response)
		return
	}
	var problem struct{ Error string }
	json.Unmarshal(body, &problem)
	a.code = problem.Error
	switch fmt.Sprint(a.status, " ", a.code) {
	case "409 idempotency_key_in_progress", "409 idempotency_key_retry", "503 idempotency_ledger_unavailable":
		a.outcome = refused
	case "422 idempotency_key_reused", "409 idempotency_key_reused", "400 idempotency_key_reused":
		a.outcome = reused
	case "503 idempotency_outcome_unknown":
		a.outcome = unknown
	case "500 internal_error":
		// In a transaction the failed work was rolled back and its claim
		// released; elsewhere its failure is its answer.
		if a.outcome = refused; a.request.Effect != Transaction {
			a.final(response)
		}
	case "500 idempotency_outcome_unknown":
		// SQLite rolls a transaction back by itself when its disk is full. That
		// is not told from a handler's doing, so that the key is closed.
		if a.outcome = strange; a.mayClose && a.request.Effect == Transaction {
			if a.stood(response); a.outcome == replayed {
				a.outcome = closed
			}
		}
	default:
		// It may come from the handler, or from what stands before it.
		if a.outcome = strange; a.failure() {
			a.stood(response)
		}
	}
}

// stood marks an answer that is known to stand only when it is replayed.
func (a *attempt) stood(response *http.Response) {
	if a.final(response); a.outcome == ran {
		a.outcome, a.answer = unknown, ""
	}
}

// failure reports whether an answer is a failure that the server has words of
// its own for. A request that succeeds when it is asked for alone gets no other
// answer below 500.
func (a *attempt) failure() bool {
	switch a.status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return a.status >= 500 && !strings.HasPrefix(a.code, "idempotency_")
}

// final marks an answer that stands, or stood before.
func (a *attempt) final(response *http.Response) {
	a.outcome = ran
	// The second name is that of the profile stripe.
	for _, marker := range []string{"Idempotency-Replayed", "Idempotent-Replayed"} {
		if response.Header.Get(marker) == "true" {
			a.outcome = replayed
		}
	}
	a.answer = fmt.Sprint(a.status, " ", response.Header.Get("Content-Type"), " ", a.body)
}

// again reports whether a client that got this answer asks again.
func (a *attempt) again() bool {
	switch {
	case a.outcome == reused:
		return false
	case a.status == 0, a.status == http.StatusConflict:
		return true
	}
	return (a.status >= 500 || a.failure()) && a.outcome != replayed && a.outcome != closed
}

// history is what clients of one database saw. It is safe for concurrent use.
type history struct {
	mu   sync.Mutex
	keys map[string][]*attempt // by reference
	all  map[string]payment    // all that were made up, by reference
}

func (h *history) add(a *attempt) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keys[a.reference] = append(h.keys[a.reference], a)
}

// expect makes a payment known before it is asked for.
func (h *history) expect(p payment) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all[p.reference] = p
}

// expected are all payments that were made up.
func (h *history) expected() []payment {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]payment, 0, len(h.all))
	for _, p := range h.all {
		list = append(list, p)
	}
	return list
}
