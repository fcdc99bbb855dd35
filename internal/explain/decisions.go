package explain

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/idemgen/idemgen/internal/spec"
	"github.com/idemgen/idemgen/runtime"
)

// Decision is one row of the decision table.
type Decision struct {
	Request string `json:"request"`
	// Status is that of the answer; absent when the handler's or the stored
	// answer decides.
	Status int `json:"status,omitempty"`
	// Code is the stable code of an error answer.
	Code string `json:"code,omitempty"`
	// Then is what else is to be said.
	Then string `json:"then"`
}

// decisions says what becomes of the requests of an endpoint, in the order in
// which the runtime asks.
func decisions(e *spec.Endpoint) []Decision {
	p := e.Policy
	var rows []Decision
	if p.KeyOptional {
		rows = append(rows, Decision{Request: "without a key", Then: "runs plainly; nothing is stored"})
	} else {
		rows = append(rows, Decision{"without a key", http.StatusBadRequest, runtime.CodeKeyRequired, "not run"})
	}
	rows = append(rows,
		Decision{"the key is malformed", http.StatusBadRequest, runtime.CodeKeyInvalid, "not run"},
		Decision{"the body is over " + size(p.RequestMax), http.StatusRequestEntityTooLarge, runtime.CodeBodyTooLarge, "not run"},
		Decision{"the key is new", success(e), "", "runs; the answer is kept for " + duration(p.Retain) + says(e)},
		Decision{"the key is another request's", p.Mismatch, runtime.CodeKeyReused, "not run, not replayed"},
		Decision{Request: "a retry, completed", Then: "the stored answer, with " + p.ReplayMarker + ": true"},
		Decision{pending(p), http.StatusConflict, runtime.CodeKeyInProgress, running(p)},
		Decision{"a retry, lease over", success(e), "", takeover(e)},
	)
	if p.Gone > 0 {
		rows = append(rows, Decision{"a retry after " + duration(p.Retain), http.StatusGone, runtime.CodeKeyExpired, "not run, for " + duration(p.Gone)})
		rows = append(rows, Decision{"a retry after " + duration(p.Retain+p.Gone), success(e), "", "runs again, as a new key"})
	} else {
		rows = append(rows, Decision{"a retry after " + duration(p.Retain), success(e), "", "runs again, as a new key"})
	}
	return append(rows,
		Decision{Request: "the handler fails", Then: failure(p)},
		Decision{"the answer is over " + size(p.ResponseMax), http.StatusInternalServerError, runtime.CodeResponseTooLarge, tooLarge(e)},
		Decision{"the ledger is down", http.StatusServiceUnavailable, runtime.CodeLedgerUnavailable, "not run"},
	)
}

// success is the status of a success; 0 where the handler writes its own.
func success(e *spec.Endpoint) int {
	if e.Shape == spec.Standard {
		return 0
	}
	return e.Status
}

// says names the statuses of which the result says one.
func says(e *spec.Endpoint) string {
	var all []string
	for _, status := range e.Statuses {
		all = append(all, strconv.Itoa(status))
	}
	if len(all) < 2 {
		return ""
	}
	return "; or says " + strings.Join(all[1:], ", ")
}

// pending is a retry that meets a claim without an answer.
func pending(p runtime.Policy) string {
	if p.Failure == runtime.FailureHold {
		return "a retry, running or held"
	}
	return "a retry, still running"
}

// running says what a duplicate of a running request gets.
func running(p runtime.Policy) string {
	text := "Retry-After at most " + duration(p.Lease)
	if p.Once {
		text = "Retry-After 1s; in the owner's process it first waits its turn, at most " + duration(p.Lease)
	}
	if p.Wait > 0 {
		text += ", but first waits " + duration(p.Wait) + " for the answer"
	}
	return text
}

// takeover says what a second run may do.
func takeover(e *spec.Endpoint) string {
	if e.Tx != nil {
		return "one takes over and runs; the first run was rolled back"
	}
	return "one takes over and runs again"
}

func tooLarge(e *spec.Endpoint) string {
	if e.Tx != nil {
		return "rolled back; final"
	}
	return "final; the effect stands"
}

// failure says what becomes of a claim after an unclassified error, a panic, a
// 5xx, 408, 425 or 429.
func failure(p runtime.Policy) string {
	switch p.Failure {
	case runtime.FailureStore:
		return "the failure is final and replayed for " + duration(p.Retain)
	case runtime.FailureRelease:
		return "the claim is deleted; a retry runs"
	default:
		return "a retry gets 409 until the lease of " + duration(p.Lease) + " ends, then runs"
	}
}

// text is the answer for a terminal.
func (d Decision) text() string {
	switch {
	case d.Status == 0:
		return d.Then
	case d.Code == "":
		return strconv.Itoa(d.Status) + " " + d.Then
	default:
		return fmt.Sprintf("%d %s; %s", d.Status, d.Code, d.Then)
	}
}
