package runtime

import (
	"strings"
	"time"
)

// Error is an answer that says why a request has no other one. Handlers return
// it for outcomes with a status, as it is: wrapped in another error it does not
// decide; the runtime returns it, and answers with it,
// when it refuses a request. Message and Members go to the client; Cause stays
// in logs.
type Error struct {
	Status     int    // 400-599; anything else counts as 500
	Code       string // stable, such as "idempotency_key_reused"
	Message    string
	RetryAfter time.Duration // 0: the client is not told when to retry
	Cause      error

	// Type and Title are those of a problem document (RFC 9457, section 3.1);
	// where they are empty, they are made of Code, see [WithProblemBase].
	Type, Title string
	// Members are further members of a problem document, such as "errors".
	// Those that the runtime writes itself are left out.
	Members map[string]any
}

// FieldError says what is wrong with one part of a request. Either Pointer or
// Parameter is given.
type FieldError struct {
	Pointer   string `json:"pointer,omitempty"`   // into the body, RFC 6901: "/lines/0/sku"
	Parameter string `json:"parameter,omitempty"` // name of a header, query parameter or wildcard
	Detail    string `json:"detail"`              // the rule, not the value
}

// Invalid is the error of a request whose parts break rules: 422 with the
// member "errors", for Validate and for handlers.
func Invalid(fields ...FieldError) *Error {
	return &Error{Status: 422, Code: CodeRequestInvalid, Message: "The request is not valid.",
		Members: map[string]any{"errors": fields}}
}

// Error returns the message and the cause.
func (e *Error) Error() string {
	if e.Cause != nil {
		return strings.TrimSuffix(e.Message, ".") + ": " + e.Cause.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// HTTPStatus returns the status of the answer.
func (e *Error) HTTPStatus() int { return e.Status }

// Codes of the answers that the runtime itself gives; docs/problems.md
// describes each.
const (
	CodeUnauthenticated     = "unauthenticated"
	CodeForbidden           = "forbidden"
	CodePrincipalInvalid    = "principal_invalid"
	CodeKeyRequired         = "idempotency_key_required"
	CodeKeyInvalid          = "idempotency_key_invalid"
	CodeKeyReused           = "idempotency_key_reused"
	CodeKeyInProgress       = "idempotency_key_in_progress"
	CodeKeyRetry            = "idempotency_key_retry"
	CodeKeyExpired          = "idempotency_key_expired"
	CodeResponseTooLarge    = "idempotency_response_too_large"
	CodeOutcomeUnknown      = "idempotency_outcome_unknown"
	CodeLedgerUnavailable   = "idempotency_ledger_unavailable"
	CodeBodyTooLarge        = "request_body_too_large"
	CodeBodyConsumed        = "request_body_consumed"
	CodeBodyUnreadable      = "request_body_unreadable"
	CodeRequestInvalid      = "request_invalid"
	CodeMediaTypeUnexpected = "unsupported_media_type"
	CodeEndpointUnknown     = "endpoint_unknown"
	CodeMethodNotAllowed    = "method_not_allowed"
	CodeCallerLimit         = "caller_limit_reached"
	CodeCallerKept          = "caller_keys_limit_reached"
	CodeInternal            = "internal_error"
)

// ownCodes are the codes that docs/problems.md describes.
var ownCodes = map[string]bool{
	CodeUnauthenticated: true, CodeForbidden: true, CodePrincipalInvalid: true, CodeKeyRequired: true,
	CodeKeyInvalid: true, CodeKeyReused: true, CodeKeyInProgress: true, CodeKeyRetry: true, CodeKeyExpired: true,
	CodeResponseTooLarge: true, CodeOutcomeUnknown: true, CodeLedgerUnavailable: true, CodeBodyTooLarge: true,
	CodeBodyUnreadable: true, CodeBodyConsumed: true, CodeRequestInvalid: true, CodeMediaTypeUnexpected: true, CodeEndpointUnknown: true,
	CodeMethodNotAllowed: true, CodeCallerLimit: true, CodeCallerKept: true, CodeInternal: true,
}

// retryAtOnce is the Retry-After of answers to passing trouble.
const retryAtOnce = time.Second

// ledgerDown is the answer when the ledger cannot be used before anything ran.
func ledgerDown(cause error) *Error {
	return &Error{Status: 503, Code: CodeLedgerUnavailable, RetryAfter: retryAtOnce, Cause: cause,
		Message: "The request was not run, because its key could not be recorded. Retry with the same key."}
}

// retryKey is the answer when the key's row changed under the request.
func retryKey(cause error) *Error {
	return &Error{Status: 409, Code: CodeKeyRetry, RetryAfter: retryAtOnce, Cause: cause,
		Message: "The state of this key could not be told. Retry with the same key."}
}

func inProgress(left time.Duration) *Error {
	return &Error{Status: 409, Code: CodeKeyInProgress, RetryAfter: left,
		Message: "A request with this key has no answer yet: it is running, or it failed and holds its key for a while. Retry with the same key."}
}

func outcomeUnknown(cause error) *Error {
	return &Error{Status: 503, Code: CodeOutcomeUnknown, RetryAfter: retryAtOnce, Cause: cause,
		Message: "Whether the request took effect could not be told. Retry with the same key."}
}

// unrecorded refuses work that was rolled back because its answer could not be
// recorded for now.
func unrecorded(cause error) *Error {
	return &Error{Status: 503, Code: CodeLedgerUnavailable, RetryAfter: retryAtOnce, Cause: cause,
		Message: "The request took no effect, because its answer could not be recorded. Retry with the same key."}
}
