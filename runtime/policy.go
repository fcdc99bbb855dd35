package runtime

import (
	"time"
)

// Policy is everything that an endpoint promises to its callers and demands of
// them. It is plain data: generated code writes every field, so a change of
// the generator's defaults never changes an endpoint that stands.
//
// The zero value is not valid; [DefaultPolicy] is a start for policies written
// by hand. A Policy is read only after it has been given to an [Engine].
type Policy struct {
	// Operation is the endpoint's identity in the ledger, 1 to 255 bytes of
	// printable ASCII, such as "POST /v1/orders/{}/cancel".
	Operation string

	// KeyHeader names the request header that carries the key.
	KeyHeader string
	// KeyOptional lets requests without a key run plainly: nothing is stored.
	KeyOptional bool
	// KeySyntax is how the key is written on the wire.
	KeySyntax KeySyntax
	// KeyMax is the longest key in bytes, 1 to 255.
	KeyMax int

	// Fingerprint is the rule by which two requests are the same request.
	Fingerprint Rule

	// RequestMax is the largest request body in bytes.
	RequestMax int64
	// Encodings lists the content codings (RFC 9110, section 8.4.1), in lower
	// case, in which a request body may come: it is compared and handed on as it
	// came. Others are 415, and all are where the list is empty.
	Encodings []string
	// ResponseMax is the largest answer in bytes, headers included.
	ResponseMax int64
	// Replay lists the response headers that an answer keeps, in canonical
	// form. Content-Type and Content-Encoding are always kept. One that is taken
	// off the list is not replayed from rows that have it either.
	Replay []string

	// Lease is how long a pending claim holds the key before another request
	// may take it over; at least 2 s.
	Lease time.Duration
	// Timeout is the handler's deadline, counted from just before the claim is
	// sent; at least 1 s below Lease, unless Renew is set.
	Timeout time.Duration
	// Renew extends the lease while the handler runs, until its Timeout. When
	// that fails for too long, the handler's context is cancelled with
	// [ErrLeaseLost].
	Renew bool
	// Retain is how long an answer is replayed after completion.
	Retain time.Duration
	// Gone is how long after Retain a late retry is refused with 410.
	Gone time.Duration
	// Sweep is how many due rows one request may delete; 0 leaves sweeping to
	// the operator.
	Sweep int

	// Scope says whose key space a key lives in.
	Scope Scope
	// Mismatch is the status for a key reused with another request: 422, 409
	// or 400.
	Mismatch int
	// Failure says what happens to the claim when the work fails.
	Failure Failure
	// Wait is how long a duplicate waits for the running owner's answer before
	// it is refused; 0 refuses it at once.
	Wait time.Duration
	// Once commits claim, effect and answer of work in a transaction together,
	// instead of the claim first: see [OnceLedger]. Refused for other work.
	Once bool
	// Retry is how often work in a transaction runs again, in the same claim,
	// after the database rolled it back for the sake of another: 0 to 10.
	// Refused for other work.
	Retry int
	// Errors is the form of error answers.
	Errors ErrorForm
	// ReplayMarker names the response header that is "true" on replays.
	ReplayMarker string
}

// KeySyntax is how a key is written in its header.
type KeySyntax string

const (
	// KeyRaw takes the header's value as it is: 1-255 bytes of 0x20-0x7e.
	KeyRaw KeySyntax = "raw"
	// KeySF demands an RFC 8941 string, quotes included, as
	// draft-ietf-httpapi-idempotency-key-header-07 does.
	KeySF KeySyntax = "sf"
)

// Scope says which requests share a key space.
type Scope string

const (
	// ScopePrincipal gives each caller one key space for all operations.
	ScopePrincipal Scope = "principal"
	// ScopeOperation gives each caller one key space per operation.
	ScopeOperation Scope = "operation"
)

// Failure says what happens to a claim whose work ended in an unclassified
// error, a panic, a 5xx, 408, 425 or 429. Other statuses are results and are
// stored under every policy.
type Failure string

const (
	// FailureStore makes whatever a started handler ends with final, but for a
	// 408, 425, 429 or 503 with a Retry-After, which is released.
	FailureStore Failure = "store"
	// FailureRelease deletes the claim, so that a retry runs again.
	FailureRelease Failure = "release"
	// FailureHold leaves the claim pending until its lease ends.
	FailureHold Failure = "hold"
)

// ErrorForm is the form of error answers.
type ErrorForm string

const (
	// ErrorsProblem is RFC 9457 problem+json.
	ErrorsProblem ErrorForm = "problem"
	// ErrorsJSON is {"error": code, "message": text}.
	ErrorsJSON ErrorForm = "json"
)

// DefaultPolicy returns the policy of an endpoint on which nothing is
// configured but its operation name.
func DefaultPolicy(operation string) Policy {
	return Policy{
		Operation:    operation,
		KeyHeader:    "Idempotency-Key",
		KeySyntax:    KeyRaw,
		KeyMax:       255,
		Fingerprint:  Rule{Body: BodyRaw, Headers: []string{"content-type"}},
		RequestMax:   1 << 20,
		ResponseMax:  16 << 10,
		Replay:       append([]string{"Content-Type", "Location"}, ProtectiveHeaders()...),
		Lease:        30 * time.Second,
		Timeout:      25 * time.Second,
		Retain:       24 * time.Hour,
		Sweep:        20,
		Scope:        ScopePrincipal,
		Mismatch:     422,
		Failure:      FailureStore,
		Errors:       ErrorsProblem,
		ReplayMarker: "Idempotency-Replayed",
	}
}

// DefaultTimeout is the handler's deadline for a lease on which no timeout is
// configured: five sixths of the lease in whole milliseconds, but at least 1 s
// below it.
func DefaultTimeout(lease time.Duration) time.Duration {
	return min((lease - lease/6).Truncate(time.Millisecond), lease-time.Second)
}

// scope is the scope column of the policy's rows.
func (p *Policy) scope() string {
	if p.Scope == ScopeOperation {
		return p.Operation
	}
	return ""
}
