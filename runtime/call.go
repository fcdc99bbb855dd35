package runtime

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
)

// Call identifies one request to a [Guard].
type Call struct {
	Principal string // 1-255 bytes
	Key       string // 1 to Policy.KeyMax bytes of printable ASCII
	// Fingerprint returns the request's digest under a rule. It is called
	// with the policy's rule and, where an older row holds the key, with that
	// row's. It is required, and must be a pure function; HTTP callers use
	// [Rule.Fingerprint].
	Fingerprint func(Rule) [32]byte

	// exchange keeps what belongs to the call. Where it came by HTTP, the
	// fingerprint is that of the exchange's parts.
	exchange *exchange
}

// fingerprint is the request's digest under a rule.
func (c *Call) fingerprint(rule Rule) [32]byte {
	if c.exchange != nil && c.exchange.endpoint != nil {
		return c.exchange.fingerprint(rule)
	}
	return c.Fingerprint(rule)
}

// digest is the fingerprint that a new row of the call has, taken once.
func (g *Guard) digest(id ID, call *Call) [32]byte {
	x := call.exchange
	if x != nil && x.digested {
		return x.digest
	}
	digest := call.fingerprint(g.policy.Fingerprint)
	if key := g.engine.settings.newRowsKey(); key != nil {
		digest = key.of(id, digest)
	}
	if x != nil {
		x.digest, x.digested = digest, true
	}
	return digest
}

// digestFor is the fingerprint that the call has as a row of that rule.
func (g *Guard) digestFor(stored string, id ID, call *Call) ([32]byte, error) {
	if stored == g.rule {
		return g.digest(id, call), nil
	}
	x := call.exchange
	if x != nil && stored == x.otherRule && stored != "" {
		return x.other, nil
	}
	rule, key, err := g.engine.settings.ruleOf(stored)
	if err != nil {
		return [32]byte{}, err
	}
	if x != nil && x.forgotten {
		return [32]byte{}, errForgotten
	}
	digest := call.fingerprint(rule)
	if key != nil {
		digest = key.of(id, digest)
	}
	if x != nil {
		x.other, x.otherRule = digest, stored
	}
	return digest, nil
}

// errForgotten says that a row under another rule came while a request waited.
var errForgotten = errors.New("idemgen: the row's rule is not the one under which the request began to wait")

// Answer is what a piece of work ends with and what a replay repeats.
type Answer struct {
	Status int // as HTTP has them, 0: 200; see [Policy] Failure for what counts as failed
	Header Header
	Body   []byte
}

// Result is the outcome of a call that was run or replayed.
type Result struct {
	Answer   Answer
	Replayed bool
	// Err is the error that the work returned in this call; nil on replays.
	Err error
}

// id validates the call and returns its primary key.
func (g *Guard) id(call Call) (ID, error) {
	if n := len(call.Principal); n < 1 || n > 255 {
		return ID{}, &Error{Status: 500, Code: CodePrincipalInvalid,
			Message: "The caller's identity has " + strconv.Itoa(n) + " bytes; it must have 1 to 255."}
	}
	if err := g.policy.checkKey(call.Key); err != nil {
		return ID{}, err
	}
	return ID{Principal: call.Principal, Scope: g.policy.scope(), Key: call.Key}, nil
}

func newOwner() (o Owner) {
	rand.Read(o[:])
	return o
}

// verdict is what a row means for a call.
type verdict int

const (
	answered verdict = iota // by a replay or a refusal
	stale                   // pending, its lease is over: may be taken over
	reusable                // expired: the key is free again
)

// decide holds a call against the row that has its key. Every row is compared
// under the rule that it was written with, whatever this binary would use for
// a new one.
func (g *Guard) decide(ctx context.Context, id ID, call Call, row *Row) (verdict, Result, error) {
	// A sweep drops the answers of expired rows. Such a row stays expired when
	// the ledger's clock is set back: there is nothing left to replay.
	dropped := row.Completed && row.Answer.Status == 0
	if row.Expired() || dropped {
		if row.Now < row.GoneAt {
			return answered, Result{}, &Error{Status: 410, Code: CodeKeyExpired,
				Message: "The answer to the request with this key is no longer kept. It was not run again."}
		}
		return reusable, Result{}, nil
	}
	fingerprint, err := g.digestFor(row.Policy, id, &call)
	if err != nil {
		return answered, Result{}, retryKey(err)
	}
	if fingerprint != row.Fingerprint {
		return answered, Result{}, &Error{Status: g.policy.Mismatch, Code: CodeKeyReused,
			Message: "This key was used for a different request."}
	}
	if row.Completed {
		answer, err := g.engine.settings.recall(ctx, id, row, call.exchange.takeHeader())
		if errors.Is(err, context.DeadlineExceeded) {
			failure := ledgerDown(err)
			failure.Message = "The stored answer of this key could not be read in time. Retry with the same key."
			return answered, Result{}, failure
		}
		if err != nil {
			return answered, Result{}, &Error{Status: 500, Code: CodeInternal, Cause: err,
				Message: "The stored answer of this key cannot be read."}
		}
		return answered, Result{Answer: answer, Replayed: true}, nil
	}
	if row.LeaseUntil > row.Now {
		return answered, Result{}, g.stillRunning(row)
	}
	return stale, Result{}, nil
}

// recall makes an answer of what the ledger kept, its header in memory where
// that is enough.
func (s *settings) recall(ctx context.Context, id ID, row *Row, memory Header) (Answer, error) {
	stored, err := s.open(ctx, Fence{ID: id, Generation: row.Generation, Owner: row.Owner}, row.Answer)
	if err != nil {
		return Answer{}, err
	}
	if !isAnswerStatus(stored.Status) {
		return Answer{}, fmt.Errorf("idemgen: the stored answer has the status %d", stored.Status)
	}
	header, err := appendHeader(memory, stored.Headers)
	return Answer{stored.Status, header, stored.Body}, err
}
