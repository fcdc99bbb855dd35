package spec

import (
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// profile is a set of defaults. An empty Failure means that the method's shape
// decides: store, or release with a transaction.
type profile struct {
	name   string
	policy runtime.Policy
}

// profiles is the table of all profiles; the first is the default.
var profiles = []profile{
	{"default", preset(func(p *runtime.Policy) {
		p.Failure = ""
	})},
	{"d1", preset(func(p *runtime.Policy) {
		p.Mismatch = 409
		p.Errors = runtime.ErrorsJSON
		p.ResponseMax = 16 << 10
		p.Retain = 24 * time.Hour
		p.Failure = runtime.FailureHold
		p.Sweep = 20
	})},
	{"stripe", preset(func(p *runtime.Policy) {
		p.Mismatch = 400
		p.Failure = runtime.FailureStore
		p.ReplayMarker = "Idempotent-Replayed"
	})},
	{"ietf", preset(func(p *runtime.Policy) {
		p.Mismatch = 422
		p.Errors = runtime.ErrorsProblem
		p.KeySyntax = runtime.KeySF
		p.Failure = ""
	})},
}

// preset is the policy by default with changes.
func preset(change func(*runtime.Policy)) runtime.Policy {
	p := runtime.DefaultPolicy("")
	change(&p)
	return p
}

// profilePolicy returns the policy of a profile. The grammar has checked the
// name; an unknown one gives the default.
func profilePolicy(name string) runtime.Policy {
	for _, p := range profiles {
		if p.name == name {
			return p.policy
		}
	}
	return profiles[0].policy
}
