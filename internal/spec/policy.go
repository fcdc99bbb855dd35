package spec

import (
	"go/token"
	"net/textproto"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/runtime"
)

// level is how specific the place of an argument is; a higher one overrides a
// lower one.
type level int

const (
	byProfile level = iota
	byInterface
	byMethod
)

// origin is where a value of a policy was written.
type origin struct {
	level level
	pos   token.Position // of the argument
	items []Item         // of a list, in the order of the policy's list
}

// resolution is the policy of one endpoint, value by value with its origin.
type resolution struct {
	policy runtime.Policy
	// origins has the fields of the policy that an argument set.
	origins map[string]origin
	// timeoutGiven is false while the timeout follows from the lease.
	timeoutGiven bool
	// failureByShape is true when nobody chose a failure policy.
	failureByShape bool
}

// fieldArguments names the argument that sets a field of the policy.
var fieldArguments = map[string]string{
	"Operation": "endpoint.Name",
	"KeyHeader": "key.Header", "KeyOptional": "key.Presence", "KeySyntax": "key.Syntax", "KeyMax": "key.Max",
	"Fingerprint": "fingerprint.Headers",
	"RequestMax":  "request.Max", "Encodings": "request.Encoding",
	"ResponseMax": "response.Max", "Replay": "response.Replay",
	"Lease": "lease.Lease", "Timeout": "lease.Timeout", "Renew": "lease.Renew",
	"Retain": "retain.Retain", "Sweep": "retain.Sweep", "Gone": "retain.Gone",
	"Scope":    "scope.Scope",
	"Mismatch": "on.Mismatch", "Failure": "on.Failure", "Wait": "on.Wait",
	"Once": "commit.Mode", "Retry": "commit.Retry",
	"Errors": "api.Errors", "ReplayMarker": "api.Profile",
}

// fieldPartners names the other field that a rule about a field looks at.
var fieldPartners = map[string]string{
	"Timeout": "Lease", "Retain": "Lease", "Fingerprint": "KeyHeader", "Replay": "ReplayMarker", "KeyHeader": "ReplayMarker",
	"Wait": "Once",
}

// resolvePolicy lays the arguments of the interface over the profile, and
// those of the method over both.
func resolvePolicy(ofInterface, ofMethod *arguments, transaction bool) *resolution {
	r := &resolution{policy: profilePolicy(ofInterface.API.Profile.V), origins: map[string]origin{}}
	r.policy.Replay = slices.Clone(r.policy.Replay)
	r.policy.Fingerprint.Headers = slices.Clone(r.policy.Fingerprint.Headers)
	if profile := ofInterface.API.Profile; profile.given() {
		for field := range fieldArguments {
			if field != "Operation" {
				r.origins[field] = origin{level: byProfile, pos: profile.Pos}
			}
		}
	}
	r.apply(ofInterface, byInterface)
	r.apply(ofMethod, byMethod)
	if !r.timeoutGiven {
		r.policy.Timeout = runtime.DefaultTimeout(r.policy.Lease)
		if lease, set := r.origins["Lease"]; set {
			r.origins["Timeout"] = lease
		}
	}
	if r.policy.Failure == "" {
		r.failureByShape = true
		r.policy.Failure = runtime.FailureStore
		if transaction {
			r.policy.Failure = runtime.FailureRelease
		}
	}
	return r
}

// apply lays the arguments of one place over what stands.
func (r *resolution) apply(a *arguments, at level) {
	p := &r.policy
	take(r, at, "Errors", &p.Errors, a.API.Errors)
	take(r, at, "KeyHeader", &p.KeyHeader, a.Key.Header)
	take(r, at, "KeySyntax", &p.KeySyntax, a.Key.Syntax)
	take(r, at, "KeyMax", &p.KeyMax, a.Key.Max)
	if presence := a.Key.Presence; presence.given() {
		p.KeyOptional = presence.V == "optional"
		r.origins["KeyOptional"] = origin{level: at, pos: presence.Pos}
	}
	if headers := a.Fingerprint.Headers; headers.given() {
		items := headerItems(headers.V)
		p.Fingerprint.Headers = nil
		for _, item := range items {
			p.Fingerprint.Headers = append(p.Fingerprint.Headers, strings.ToLower(item.Text))
		}
		r.origins["Fingerprint"] = origin{at, headers.Pos, items}
	}
	if !a.isBroken("fingerprint.Body") {
		take(r, at, "FingerprintBody", &p.Fingerprint.Body, a.Fingerprint.Body)
	}
	take(r, at, "RequestMax", &p.RequestMax, a.Request.Max)
	if encoding := a.Request.Encoding; encoding.given() {
		items := headerItems(encoding.V)
		p.Encodings = nil
		for _, item := range items {
			p.Encodings = append(p.Encodings, strings.ToLower(item.Text))
		}
		r.origins["Encodings"] = origin{at, encoding.Pos, items}
	}
	take(r, at, "ResponseMax", &p.ResponseMax, a.Response.Max)
	if replay := a.Response.Replay; replay.given() {
		items := protectiveItems(headerItems(replay.V))
		p.Replay = nil
		for _, item := range items {
			p.Replay = append(p.Replay, textproto.CanonicalMIMEHeaderKey(item.Text))
		}
		r.origins["Replay"] = origin{at, replay.Pos, items}
	}
	take(r, at, "Lease", &p.Lease, a.Lease.Lease)
	if take(r, at, "Timeout", &p.Timeout, a.Lease.Timeout) {
		r.timeoutGiven = true
	}
	if renew := a.Lease.Renew; renew.given() {
		p.Renew = renew.V == "on"
		r.origins["Renew"] = origin{level: at, pos: renew.Pos}
	}
	take(r, at, "Retain", &p.Retain, a.Retain.Retain)
	take(r, at, "Sweep", &p.Sweep, a.Retain.Sweep)
	take(r, at, "Gone", &p.Gone, a.Retain.Gone)
	take(r, at, "Scope", &p.Scope, a.Scope.Scope)
	take(r, at, "Mismatch", &p.Mismatch, a.On.Mismatch)
	take(r, at, "Failure", &p.Failure, a.On.Failure)
	take(r, at, "Wait", &p.Wait, a.On.Wait)
	if mode := a.Commit.Mode; mode.given() {
		p.Once = mode.V == "once"
		r.origins["Once"] = origin{level: at, pos: mode.Pos}
	}
	take(r, at, "Retry", &p.Retry, a.Commit.Retry)
}

// take sets one field of the policy from its argument, when that is given.
func take[T any](r *resolution, at level, field string, to *T, from Value[T]) bool {
	if !from.given() {
		return false
	}
	*to = from.V
	r.origins[field] = origin{level: at, pos: from.Pos}
	return true
}

// headerItems is a list of headers; the single word none is the empty list.
func headerItems(items []Item) []Item {
	if len(items) == 1 && items[0].Text == "none" {
		return nil
	}
	return items
}

// protective stands in a replay list for all headers that protect an answer.
const protective = "protective"

// protectiveItems writes out what protective stands for, without those that the
// list has already.
func protectiveItems(items []Item) []Item {
	var all []Item
	for _, item := range items {
		if item.Text != protective {
			all = append(all, item)
			continue
		}
		for _, name := range runtime.ProtectiveHeaders() {
			if !slices.ContainsFunc(all, func(other Item) bool { return strings.EqualFold(other.Text, name) }) {
				all = append(all, Item{name, item.Pos})
			}
		}
	}
	return all
}

// ReplayWords is a replay list as a directive has it, with the word protective
// where the list ends in all that it stands for.
func ReplayWords(replay []string) []string {
	all := runtime.ProtectiveHeaders()
	if rest := len(replay) - len(all); rest >= 0 && slices.Equal(replay[rest:], all) {
		return append(slices.Clone(replay[:rest]), protective)
	}
	return replay
}

// problems checks the policy and reports each broken rule at the argument that
// caused it: of two arguments that disagree, at the more specific one. Without
// an argument the directive stands in, without that the endpoint's own.
func (r *resolution) problems(ofInterface, ofMethod *arguments) Problems {
	var problems Problems
	for _, found := range r.policy.Problems() {
		argument := fieldArguments[found.Field]
		directive, _, _ := strings.Cut(argument, ".")
		partner := fieldPartners[found.Field]
		partnerBroken := broken(fieldArguments[partner], ofInterface, ofMethod) && r.partnerMatters(found)
		if broken(argument, ofInterface, ofMethod) || partnerBroken {
			continue
		}
		pos, other := r.blame(found, partner)
		if !pos.IsValid() {
			pos = ofMethod.at[directive]
		}
		if !pos.IsValid() {
			pos = ofMethod.at["endpoint"]
		}
		problems = append(problems, Problem{
			Pos: pos, Code: CodePolicy, Message: "idem:" + directive + ": " + found.Message, Other: other,
		})
	}
	return problems
}

// broken reports whether an argument is broken in one of several places.
func broken(argument string, places ...*arguments) bool {
	return slices.ContainsFunc(places, func(a *arguments) bool { return a.isBroken(argument) })
}

// blame finds the argument that breaks a rule, and the argument that it
// disagrees with.
func (r *resolution) blame(found runtime.PolicyProblem, partner string) (token.Position, *Other) {
	own, set := r.origins[found.Field]
	ownPos := own.pos
	if len(own.items) > 0 {
		ownPos = r.blamedItem(found, own)
	}
	with, partnerSet := r.origins[partner]
	switch {
	case !partnerSet || own.pos == with.pos || !r.partnerMatters(found):
		return ownPos, nil
	case !set || with.level > own.level:
		return with.pos, otherArgument(ownPos)
	default:
		return ownPos, otherArgument(with.pos)
	}
}

func otherArgument(pos token.Position) *Other {
	if !pos.IsValid() {
		return nil
	}
	return &Other{pos, "the other value is"}
}

// partnerMatters reports whether the value of the partner field has a part in
// a broken rule: whether another value there would mend it.
func (r *resolution) partnerMatters(found runtime.PolicyProblem) bool {
	other := r.policy
	list := false
	switch found.Field {
	case "Timeout":
		other.Lease = runtime.MaxLease
	case "Retain":
		other.Lease = runtime.MinLease
	case "Fingerprint":
		other.KeyHeader, list = "-", true
	case "Replay":
		other.ReplayMarker, list = "-", true
	case "KeyHeader":
		other.ReplayMarker = "-"
	}
	return !slices.ContainsFunc(other.Problems(), func(still runtime.PolicyProblem) bool {
		return still.Field == found.Field && (!list || still.Message == found.Message)
	})
}

// blamedItem finds the item of a list that breaks a rule: the last one of the
// shortest beginning of the list for which the rule is broken.
func (r *resolution) blamedItem(found runtime.PolicyProblem, own origin) token.Position {
	for n := 1; n < len(own.items); n++ {
		shorter := r.policy
		switch found.Field {
		case "Fingerprint":
			shorter.Fingerprint.Headers = shorter.Fingerprint.Headers[:n]
		case "Replay":
			shorter.Replay = shorter.Replay[:n]
		case "Encodings":
			shorter.Encodings = shorter.Encodings[:n]
		}
		if slices.Contains(shorter.Problems(), found) {
			return own.items[n-1].Pos
		}
	}
	return own.items[len(own.items)-1].Pos
}
