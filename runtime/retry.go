package runtime

import "net/http"

// Retry tells a client what to do after an error answer: the member "retry" of
// problem documents. docs/problems.md explains each to who writes clients.
type Retry string

const (
	// RetrySameKey says that the same request under the same key may be sent
	// again, after Retry-After where the answer has one.
	RetrySameKey Retry = "same-key"
	// RetryFixRequest says that nothing of this request ran: the same key may
	// carry the corrected one.
	RetryFixRequest Retry = "fix-request"
	// RetryNewKey says that the request was decided and that the decision is
	// kept under its key: another attempt is a new request with a new key.
	RetryNewKey Retry = "new-key"
	// RetryReconcile says that the request may have taken effect and that no
	// retry will tell: ask for the state by other means.
	RetryReconcile Retry = "reconcile"
)

// retryOfRefusal is what follows from an answer that no row keeps. Nothing ran
// before it, but for the codes that say otherwise.
func retryOfRefusal(code string, status int) Retry {
	switch code {
	case CodeKeyReused, CodeKeyRequired, CodeKeyInvalid:
		return RetryFixRequest // under every status that they are configured to have
	case CodeBodyUnreadable:
		return RetrySameKey // it broke off on its way
	case CodeKeyExpired, CodeResponseTooLarge, CodeInternal:
		return RetryReconcile
	}
	if status >= 500 || failed(status) || code == CodeKeyInProgress || code == CodeKeyRetry {
		return RetrySameKey
	}
	return RetryFixRequest
}

// retryOfFailure is what follows from the error that work ended with, by what
// becomes of its claim.
func retryOfFailure(status int, as Failure) Retry {
	switch {
	case as != FailureStore:
		return RetrySameKey
	case status >= 500:
		return RetryReconcile
	}
	return RetryNewKey
}

// retryOfPlain is what follows from the error that work without a key ended
// with: nothing keeps a second request from running too.
func retryOfPlain(status int) Retry {
	switch {
	case status == http.StatusServiceUnavailable || status < 500 && failed(status):
		return RetrySameKey
	case status >= 500:
		return RetryReconcile
	}
	return RetryFixRequest
}
