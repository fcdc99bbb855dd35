package runtime

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// An Observer is told of everything that happens to claims. Observe is called
// from many goroutines, on the path of requests: one that blocks holds up the
// request of which it is told, and its panic is logged.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// ObserverFunc is a function that observes.
type ObserverFunc func(ctx context.Context, e Event)

// Observe calls f.
func (f ObserverFunc) Observe(ctx context.Context, e Event) { f(ctx, e) }

// Event is one thing that happened. Fields that do not apply are zero.
type Event struct {
	Kind      EventKind
	Operation string
	Principal string
	// KeyHash is the hex HMAC-SHA256 of scope and key under the operator's
	// secret, or "" when none is configured, see [WithKeyHashSecret].
	KeyHash    string
	Generation int64
	Status     int           // of the answer
	Code       string        // of a refusal
	Duration   time.Duration // of the work or the statement
	Count      int           // rows of a sweep
	Err        error
}

// EventKind says what happened.
type EventKind string

const (
	EventClaimed       EventKind = "claimed"        // a free key was claimed; Duration: of the claim
	EventTakenOver     EventKind = "taken_over"     // a claim whose lease was over was claimed
	EventReplayed      EventKind = "replayed"       // a stored answer was given again
	EventRefused       EventKind = "refused"        // Code and Status say why
	EventCompleted     EventKind = "completed"      // the answer is stored, maybe after the caller had it; Duration: of the work
	EventReleased      EventKind = "released"       // the claim was deleted; Duration: of the work
	EventGaveUp        EventKind = "gave_up"        // an answer that was computed, or a release, will not be stored any more: the key is pending until its lease ends, and may then run again
	EventHeld          EventKind = "held"           // the claim was left pending; Duration: of the work
	EventFencedOut     EventKind = "fenced_out"     // another claim had taken the key over
	EventFlushed       EventKind = "flushed"        // the handler flushed for the first time: its answer is held back all the same
	EventOverdue       EventKind = "overdue"        // the handler passed its deadline and still runs
	EventUndecided     EventKind = "undecided"      // a transaction's outcome could not be told
	EventSwept         EventKind = "swept"          // Count rows were cleared
	EventLedgerRetried EventKind = "ledger_retried" // a statement failed with Err and was repeated
)

// keyHash is the form in which keys appear in events and logs.
func keyHash(secret []byte, id ID) string {
	if len(secret) == 0 {
		return ""
	}
	return hex.EncodeToString(keyMAC(secret, id))
}

// keyMAC is the hash of a key. The principal, which logs name, is no part of it.
func keyMAC(secret []byte, id ID) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id.Scope))
	mac.Write([]byte{0})
	mac.Write([]byte(id.Key))
	return mac.Sum(nil)
}
