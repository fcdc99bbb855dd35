package runtime

import (
	"fmt"
	"strings"
	"time"
)

// PolicyProblem is one rule that a policy breaks. Field is the name of the
// Policy field; Message quotes the value and states the rule.
type PolicyProblem struct {
	Field   string
	Message string
}

// Problems checks the policy against every rule and returns all that are
// broken, in the order of the fields. The generator and the constructors of
// this package use the same rules.
func (p Policy) Problems() []PolicyProblem {
	var found []PolicyProblem
	report := func(field, format string, args ...any) {
		found = append(found, PolicyProblem{field, fmt.Sprintf(format, args...)})
	}
	if n := len(p.Operation); n < 1 || n > 255 || !printable(p.Operation) {
		report("Operation", "%q is not an operation name: it must be 1 to 255 bytes of printable ASCII", p.Operation)
	}
	if why := unkeyable(strings.ToLower(p.KeyHeader)); !validToken(p.KeyHeader) {
		report("KeyHeader", "%q is not a header name", p.KeyHeader)
	} else if why != "" {
		report("KeyHeader", "header %q cannot carry the key: %s", p.KeyHeader, why)
	} else if strings.EqualFold(p.KeyHeader, p.ReplayMarker) {
		report("KeyHeader", "header %q marks replays and cannot carry the key", p.KeyHeader)
	}
	if p.KeySyntax != KeyRaw && p.KeySyntax != KeySF {
		report("KeySyntax", "%q is not a key syntax: use raw or sf", p.KeySyntax)
	}
	if p.KeyMax < 1 || p.KeyMax > 255 {
		report("KeyMax", "%d is out of range: a key has 1 to 255 bytes", p.KeyMax)
	}
	if p.Fingerprint.Body != BodyRaw && p.Fingerprint.Body != BodyJSON {
		report("Fingerprint", "%q is not a body mode: use raw or json", p.Fingerprint.Body)
	}
	seen := map[string]bool{}
	for _, name := range p.Fingerprint.Headers {
		switch {
		case !validToken(name) || name != strings.ToLower(name):
			report("Fingerprint", "%q is not a lower-case header name", name)
		case seen[name]:
			report("Fingerprint", "header %q is listed twice", name)
		case strings.EqualFold(name, p.KeyHeader):
			report("Fingerprint", "header %q carries the key and cannot join the fingerprint", name)
		case unjoinable(name) != "":
			report("Fingerprint", "header %q cannot join the fingerprint, or retries would be refused as reuse: %s", name, unjoinable(name))
		}
		seen[name] = true
	}
	if p.RequestMax < 1 {
		report("RequestMax", "%d is out of range: a request body limit is at least 1 byte", p.RequestMax)
	} else if p.RequestMax > MaxRequest {
		report("RequestMax", "%d is out of range: a body is held in memory, so its limit is at most %d bytes", p.RequestMax, int64(MaxRequest))
	}
	p.encodingProblems(report)
	if p.ResponseMax < MinResponse {
		report("ResponseMax", "%d is out of range: a response limit is at least %d bytes, so that an error answer fits", p.ResponseMax, MinResponse)
	} else if p.ResponseMax > MaxResponse {
		report("ResponseMax", "%d is out of range: an answer is one value of a row, at most %d bytes", p.ResponseMax, int64(MaxResponse))
	}
	seen = map[string]bool{}
	for _, name := range p.Replay {
		lower := strings.ToLower(name)
		switch {
		case !validToken(name):
			report("Replay", "%q is not a header name", name)
		case seen[lower]:
			report("Replay", "header %q is listed twice", name)
		case unreplayable(lower) != "":
			report("Replay", "header %q cannot be replayed: %s", name, unreplayable(lower))
		case strings.EqualFold(name, p.ReplayMarker):
			report("Replay", "header %q marks replays and cannot be set by a handler", name)
		}
		seen[lower] = true
	}
	if p.Lease < MinLease {
		report("Lease", "%v is too short: a lease is at least %v", p.Lease, MinLease)
	} else if p.Lease > MaxLease {
		report("Lease", "%v is too long: at most %v, since a claim whose server died holds its key for so long", p.Lease, MaxLease)
	} else if p.Timeout < time.Millisecond || !p.Renew && p.Timeout > p.Lease-time.Second {
		report("Timeout", "%v is out of range: a timeout is above 0 and at least 1s below the lease of %v", p.Timeout, p.Lease)
	} else if p.Timeout > MaxTimeout {
		report("Timeout", "%v is too long: at most %v", p.Timeout, MaxTimeout)
	}
	if p.Retain <= p.Lease && p.Lease <= MaxLease {
		report("Retain", "%v is too short: an answer is retained longer than the lease of %v", p.Retain, p.Lease)
	}
	if p.Retain > MaxRetain {
		report("Retain", "%v is too long: at most %v", p.Retain, MaxRetain)
	}
	if p.Gone < 0 || p.Gone > MaxRetain {
		report("Gone", "%v is out of range: from 0 to %v", p.Gone, MaxRetain)
	}
	if p.Sweep < 0 || p.Sweep > 10_000 {
		report("Sweep", "%d is out of range: a request sweeps 0 to 10000 rows", p.Sweep)
	}
	if p.Scope != ScopePrincipal && p.Scope != ScopeOperation {
		report("Scope", "%q is not a scope: use principal or operation", p.Scope)
	}
	if p.Mismatch != 422 && p.Mismatch != 409 && p.Mismatch != 400 {
		report("Mismatch", "%d is not a mismatch status: use 422, 409 or 400", p.Mismatch)
	}
	if p.Failure != FailureStore && p.Failure != FailureRelease && p.Failure != FailureHold {
		report("Failure", "%q is not a failure policy: use store, release or hold", p.Failure)
	}
	if p.Wait < 0 || p.Wait > MaxWait {
		report("Wait", "%v is out of range: a duplicate waits from 0 to %v", p.Wait, MaxWait)
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"Lease", p.Lease}, {"Timeout", p.Timeout}, {"Retain", p.Retain}, {"Gone", p.Gone}, {"Wait", p.Wait}} {
		if d.value > 0 && d.value%time.Millisecond != 0 {
			report(d.field, "%v is finer than a millisecond, which is what ledgers keep", d.value)
		}
	}
	if p.Once && p.Wait > 0 {
		report("Wait", "%v has no place where claim and effect commit together: duplicates queue there as it is", p.Wait)
	}
	if p.Once && p.Renew {
		report("Renew", "the lease has no place to be renewed where claim and effect commit together")
	}
	if p.Retry < 0 || p.Retry > MaxRetry {
		report("Retry", "%d is out of range: work runs again 0 to %d times", p.Retry, MaxRetry)
	}
	if p.Errors != ErrorsProblem && p.Errors != ErrorsJSON {
		report("Errors", "%q is not an error form: use problem or json", p.Errors)
	}
	if !validToken(p.ReplayMarker) {
		report("ReplayMarker", "%q is not a header name", p.ReplayMarker)
	}
	return found
}

// Limits of a policy.
const (
	// MinLease is the shortest lease.
	MinLease = 2 * time.Second
	// MaxLease is the longest lease.
	MaxLease = 48 * time.Hour
	// MaxRetry is how often work may run again.
	MaxRetry = 10
	// MaxRetain is the longest retention, and the longest time after it.
	MaxRetain = 10 * 366 * 24 * time.Hour
	// MaxTimeout is the longest deadline of a handler whose lease is renewed.
	MaxTimeout = 24 * time.Hour
	// MaxWait is the longest wait of a duplicate.
	MaxWait = 5 * time.Minute
	// MinResponse is the smallest response limit in bytes.
	MinResponse = 1024
	// MaxResponse is the largest response limit in bytes.
	MaxResponse = 512 << 20
	// MaxRequest is the largest request limit in bytes.
	MaxRequest = 1 << 30
)

// validate is Problems as one error.
func (p Policy) validate() error {
	found := p.Problems()
	if len(found) == 0 {
		return nil
	}
	texts := make([]string, len(found))
	for i, problem := range found {
		texts[i] = problem.Field + ": " + problem.Message
	}
	return fmt.Errorf("idemgen: policy of %q: %s", p.Operation, strings.Join(texts, "; "))
}

// validToken reports whether s is an RFC 9110 token, the form of header names.
func validToken(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			continue
		}
		if strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// printable reports whether every byte of s is printable ASCII.
func printable(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}
