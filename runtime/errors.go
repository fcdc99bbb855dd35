package runtime

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Error is an answer that says why a request has no other one. Handlers return
// it for outcomes with a status; the runtime returns it, and answers with it,
// when it refuses a request. Message goes to the client; Cause stays in logs.
type Error struct {
	Status     int    // 400-599; anything else counts as 500
	Code       string // stable, such as "idempotency_key_reused"
	Message    string
	RetryAfter time.Duration // 0: the client is not told when to retry
	Cause      error
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
	CodeBodyUnreadable      = "request_body_unreadable"
	CodeRequestInvalid      = "request_invalid"
	CodeMediaTypeUnexpected = "unsupported_media_type"
	CodeInternal            = "internal_error"
)

// problemBase is where the problem types of RFC 9457 are described.
const problemBase = "https://github.com/idemgen/idemgen/blob/main/docs/problems.md#"

// Release marks err so that the claim is deleted and a retry runs again,
// whatever the endpoint's failure policy. Release(nil) is nil.
func Release(err error) error { return dispose(err, FailureRelease) }

// Hold marks err so that the claim stays pending until its lease ends,
// whatever the endpoint's failure policy. Hold(nil) is nil.
func Hold(err error) error { return dispose(err, FailureHold) }

func dispose(err error, as Failure) error {
	if err == nil {
		return nil
	}
	return &disposedError{err, as}
}

type disposedError struct {
	err error
	as  Failure
}

func (e *disposedError) Error() string { return e.err.Error() }
func (e *disposedError) Unwrap() error { return e.err }

// statusOf is the status that err asks for with HTTPStatus, and whether it
// asks for one: an error without is unclassified.
func statusOf(err error) (status int, classified bool) {
	var with interface{ HTTPStatus() int }
	if !errors.As(err, &with) {
		return http.StatusInternalServerError, false
	}
	status = with.HTTPStatus()
	if status < 400 || status > 599 {
		return http.StatusInternalServerError, false
	}
	return status, true
}

// errorAnswer renders err. The text of an error without a status, or with one
// of 500 and more, is for the log and not for the client, unless the error
// is an [Error] with a message of its own.
func errorAnswer(form ErrorForm, err error) Answer {
	status, classified := statusOf(err)
	code, message := CodeInternal, "The request could not be processed."
	var retryAfter time.Duration
	var own *Error
	switch {
	case errors.As(err, &own):
		retryAfter = own.RetryAfter
		if own.Code != "" {
			code = own.Code
		} else {
			code = codeOf(status)
		}
		if own.Message != "" && classified {
			message = own.Message
		}
	case classified:
		code = codeOf(status)
		if status < 500 {
			message = err.Error()
		}
	}
	body := errorBody(form, status, code, message, retryAfter)
	contentType := "application/problem+json"
	if form == ErrorsJSON {
		contentType = "application/json"
	}
	header := Header{{"Content-Type", contentType}}
	if retryAfter > 0 {
		header = append(header, HeaderField{"Retry-After", strconv.FormatInt(retrySeconds(retryAfter), 10)})
	}
	return Answer{Status: status, Header: header, Body: body}
}

// codeOf makes a code of a status: 404 is "not_found".
func codeOf(status int) string {
	text := http.StatusText(status)
	if text == "" {
		return "status_" + strconv.Itoa(status)
	}
	return strings.ReplaceAll(strings.ToLower(strings.ReplaceAll(text, "'", "")), " ", "_")
}

func errorBody(form ErrorForm, status int, code, message string, retryAfter time.Duration) []byte {
	var body any
	if form == ErrorsJSON {
		body = struct {
			Error   string `json:"error"`
			Message string `json:"message"`
		}{code, message}
	} else {
		body = struct {
			Type         string `json:"type"`
			Title        string `json:"title"`
			Status       int    `json:"status"`
			Detail       string `json:"detail"`
			Error        string `json:"error"`
			Message      string `json:"message"`
			RetryAfterMS int64  `json:"retry_after_ms,omitempty"`
		}{problemBase + code, titleOf(code), status, message, code, message, retryAfter.Milliseconds()}
	}
	// Strings and integers always encode.
	text, _ := json.Marshal(body)
	return text
}

// titleOf makes a title of a code: "not_found" is "Not found".
func titleOf(code string) string {
	words := strings.ReplaceAll(code, "_", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

// retrySeconds is d in whole seconds, rounded up, as Retry-After wants it.
func retrySeconds(d time.Duration) int64 {
	return max(1, int64((d+time.Second-1)/time.Second))
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
		Message: "A request with this key is still running. Retry with the same key."}
}

func outcomeUnknown(cause error) *Error {
	return &Error{Status: 503, Code: CodeOutcomeUnknown, RetryAfter: retryAtOnce, Cause: cause,
		Message: "Whether the request took effect could not be told. Retry with the same key."}
}
