package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"sync/atomic"
)

// running is what a handler's context knows of its claim. It is that context,
// without its deadline.
type running struct {
	context.Context // the request's values
	id              ID
	generation      int64
	fencing         int64
	disposed        atomic.Pointer[Failure] // what ReleaseClaim or HoldClaim asked for
}

type runningKey struct{}

// Value implements context.Context.
func (r *running) Value(key any) any {
	switch key {
	case runningKey{}:
		return r
	case keeperKey{}:
		return nil // what the handler's own calls tell is told at once
	}
	return r.Context.Value(key)
}

// notedBy is the context of a handler for what the runtime tells in its stead:
// that waits for the end of its transaction.
func notedBy(ctx context.Context) context.Context {
	if r := runningFrom(ctx); r != nil {
		return r.Context
	}
	return ctx
}

func runningFrom(ctx context.Context) *running {
	r, _ := ctx.Value(runningKey{}).(*running)
	return r
}

// Principal returns the caller on whose behalf the work runs, or "" outside a
// handler.
func Principal(ctx context.Context) string {
	if r := runningFrom(ctx); r != nil {
		return r.id.Principal
	}
	return ""
}

// Key returns the request's key as it stood on the wire, or "" when the
// request has none. It is a secret of the client: keep it out of logs.
func Key(ctx context.Context) string {
	if r := runningFrom(ctx); r != nil {
		return r.id.Key
	}
	return ""
}

// Generation returns the number of the claim under which the work runs: 1 for
// the first, one more for every takeover and reuse; 0 without a claim.
func Generation(ctx context.Context) int64 {
	if r := runningFrom(ctx); r != nil {
		return r.generation
	}
	return 0
}

// FencingNumber returns the claim's time by the ledger's clock in epoch
// milliseconds, made strictly greater than that of every earlier claim of the
// row; 0 without a claim. A business table that refuses writes with a smaller
// number than it has seen is safe from owners that were taken over. Numbers
// grow across sweeps of the row as far as the ledger's clock does.
func FencingNumber(ctx context.Context) int64 {
	if r := runningFrom(ctx); r != nil {
		return r.fencing
	}
	return 0
}

// errNoKey says that a key was asked for where there is none.
var errNoKey = errors.New("idemgen: the request has no idempotency key to derive from")

// DerivedKey returns an idempotency key for a call that the handler makes to
// another service: the same on every attempt of this request and another for
// every step. It is the base64url form (RFC 4648, section 5, 43 characters) of
// SHA-256 over principal, scope, key and step, each behind its length in bytes
// as an unsigned 64-bit big-endian integer. Without a key in the request it is
// an error.
func DerivedKey(ctx context.Context, step string) (string, error) {
	r := runningFrom(ctx)
	if r == nil || r.id.Key == "" {
		return "", errNoKey
	}
	h := sha256.New()
	for _, part := range []string{r.id.Principal, r.id.Scope, r.id.Key, step} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)), nil
}

// ReleaseClaim asks that the claim under which ctx runs is deleted when the
// handler returns, so that a retry runs again. It is for handlers without an
// error result; it does nothing without a claim. Safe for concurrent use; the
// last of ReleaseClaim, HoldClaim and StoreClaim counts.
func ReleaseClaim(ctx context.Context) { disposeClaim(ctx, FailureRelease) }

// HoldClaim asks that the claim under which ctx runs stays pending until its
// lease ends. See [ReleaseClaim].
func HoldClaim(ctx context.Context) { disposeClaim(ctx, FailureHold) }

// StoreClaim asks that whatever the handler answers is final and replayed, also
// where it is a 408, 425, 429 or 503 with a Retry-After. See [ReleaseClaim].
func StoreClaim(ctx context.Context) { disposeClaim(ctx, FailureStore) }

func disposeClaim(ctx context.Context, as Failure) {
	if r := runningFrom(ctx); r != nil {
		r.disposed.Store(&as)
	}
}
