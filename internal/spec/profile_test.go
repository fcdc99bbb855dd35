package spec

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

func TestProfiles(t *testing.T) {
	var names []string
	for _, p := range profiles {
		names = append(names, p.name)
	}
	if choices := grammar[0].arguments[1]; choices.key != "profile" || !slices.Equal(choices.one, names) {
		t.Errorf("the profiles are %v, the choices %v", names, choices.one)
	}
	for _, c := range []struct {
		name              string
		mismatch          int
		errors            runtime.ErrorForm
		syntax            runtime.KeySyntax
		marker            string
		failure, tx       runtime.Failure
		responseMax, swep int64
	}{
		{"default", 422, runtime.ErrorsProblem, runtime.KeyRaw, "Idempotency-Replayed", runtime.FailureStore, runtime.FailureRelease, 16 << 10, 20},
		{"d1", 409, runtime.ErrorsJSON, runtime.KeyRaw, "Idempotency-Replayed", runtime.FailureHold, runtime.FailureHold, 16 << 10, 20},
		{"stripe", 400, runtime.ErrorsProblem, runtime.KeyRaw, "Idempotent-Replayed", runtime.FailureStore, runtime.FailureStore, 16 << 10, 20},
		{"ietf", 422, runtime.ErrorsProblem, runtime.KeySF, "Idempotency-Replayed", runtime.FailureStore, runtime.FailureRelease, 16 << 10, 20},
	} {
		api, problems := parse(t, onInterface, "api profile="+c.name)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		none, _ := parse(t, onMethod)
		p := resolvePolicy(api, none, false).policy
		if p.Mismatch != c.mismatch || p.Errors != c.errors || p.KeySyntax != c.syntax || p.ReplayMarker != c.marker ||
			p.Failure != c.failure || p.ResponseMax != c.responseMax || int64(p.Sweep) != c.swep || p.Retain != 24*time.Hour {
			t.Errorf("%s gives %+v", c.name, p)
		}
		if failure := resolvePolicy(api, none, true).policy.Failure; failure != c.tx {
			t.Errorf("%s with a transaction gives failure=%s, want %s", c.name, failure, c.tx)
		}
		p.Operation = "op"
		if found := p.Problems(); len(found) > 0 {
			t.Errorf("%s breaks rules: %v", c.name, found)
		}
	}
}

// Changing the list of one endpoint must not change another's.
func TestPoliciesShareNothing(t *testing.T) {
	api, _ := parse(t, onInterface, "api", "fingerprint X-A", "response replay=ETag")
	none, _ := parse(t, onMethod)
	first := resolvePolicy(api, none, false).policy
	second := resolvePolicy(api, none, false).policy
	first.Replay[0], first.Fingerprint.Headers[0] = "changed", "changed"
	if second.Replay[0] != "Etag" || second.Fingerprint.Headers[0] != "x-a" {
		t.Errorf("the second policy became %+v", second)
	}
	preset, _ := parse(t, onInterface)
	third := resolvePolicy(preset, none, false).policy
	third.Replay[0], third.Fingerprint.Headers[0] = "changed", "changed"
	if fourth := resolvePolicy(preset, none, false).policy; fourth.Replay[0] != "Content-Type" || fourth.Fingerprint.Headers[0] != "content-type" {
		t.Errorf("the profile became %+v", fourth)
	}
}

func TestRules(t *testing.T) {
	rules := Rules()
	for i, rule := range rules {
		if i > 0 && rule.Code <= rules[i-1].Code {
			t.Errorf("%s follows %s", rule.Code, rules[i-1].Code)
		}
		if !strings.HasPrefix(rule.Code, "IDEM") || !strings.HasSuffix(rule.Text, ".") {
			t.Errorf("rule %+v", rule)
		}
	}
}
