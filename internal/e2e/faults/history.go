package faults

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/idemgen/idemgen/example/checkout"
)

// mode is an endpoint of the checkout, and what a crash may leave behind there.
type mode struct {
	name, path string
	// effects are what a payment books in the ledger's database; nil where its
	// effect is a charge at the payment service.
	effects func(cents int64) []int64
}

var modes = []*mode{
	{"claim", "/v1/charges", nil},
	{"twice", "/v1/transfers", func(cents int64) []int64 { return []int64{-cents, cents} }},
	{"once", "/v1/withdrawals", func(cents int64) []int64 { return []int64{cents} }},
}

// payment is what a client wants to have done once.
type payment struct {
	mode         *mode
	account, key string
	cents        int64
}

// reference names the payment in the databases.
func (p payment) reference() string { return p.account + "/" + p.key }

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
}

// read says what an answer tells about its request.
func (a *attempt) read(response *http.Response, body []byte) {
	a.status, a.body, a.retryAfter = response.StatusCode, string(body), response.Header.Get("Retry-After")
	if a.status == http.StatusCreated {
		var receipt checkout.Receipt
		json.Unmarshal(body, &receipt)
		if receipt.Reference != a.reference() || receipt.Cents != a.cents {
			a.outcome = strange
			return
		}
		a.generation = receipt.Generation
		a.final(response)
		return
	}
	var problem struct{ Error string }
	json.Unmarshal(body, &problem)
	a.code = problem.Error
	switch fmt.Sprint(a.status, " ", a.code) {
	case "409 idempotency_key_in_progress", "409 idempotency_key_retry", "503 idempotency_ledger_unavailable":
		a.outcome = refused
	case "422 idempotency_key_reused":
		a.outcome = reused
	case "503 idempotency_outcome_unknown":
		a.outcome = unknown
	case "500 internal_error":
		// In a transaction the failed work was rolled back and its claim
		// released; elsewhere its failure is its answer.
		if a.outcome = refused; a.mode.effects == nil {
			a.final(response)
		}
	default:
		a.outcome = strange
	}
}

// final marks an answer that stands, or stood before.
func (a *attempt) final(response *http.Response) {
	a.outcome = ran
	if response.Header.Get("Idempotency-Replayed") == "true" {
		a.outcome = replayed
	}
	a.answer = fmt.Sprint(a.status, " ", response.Header.Get("Content-Type"), " ", a.body)
}

// again reports whether a client that got this answer asks again.
func (a *attempt) again() bool {
	switch {
	case a.status == 0, a.status == http.StatusConflict, a.status == http.StatusTooManyRequests:
		return true
	}
	return a.status >= 500 && a.outcome != replayed
}

// history is what clients of one database saw. It is safe for concurrent use.
type history struct {
	mu   sync.Mutex
	keys map[string][]*attempt // by reference
}

func (h *history) add(a *attempt) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keys[a.reference()] = append(h.keys[a.reference()], a)
}

// unstored are the answers that servers said they could not store at once: the
// references and generations of their claims. It is safe for concurrent use.
type unstored struct {
	mu     sync.Mutex
	claims map[string]bool
}

// add takes what a server printed: the generation and the reference.
func (u *unstored) add(claim string) {
	_, reference, _ := strings.Cut(claim, " ")
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.claims == nil {
		u.claims = map[string]bool{}
	}
	u.claims[claim] = true
	u.claims["0 "+reference] = true
}

// has looks for an answer. Failures do not tell their generation; then it is 0.
func (u *unstored) has(reference string, generation int64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.claims[fmt.Sprint(generation, " ", reference)]
}
