package spec

import (
	"go/token"
	"reflect"
)

// Source is the kind of place that a value comes from.
type Source string

const (
	FromDefault   Source = "default"
	FromProfile   Source = "profile"
	FromInterface Source = "interface"
	FromMethod    Source = "method"
	// FromLease is the source of a timeout that follows from the lease.
	FromLease Source = "lease"
)

// Origin is where a value of an endpoint comes from. The position is that of
// the argument, or of the lease that a timeout follows from; it is invalid for
// defaults.
type Origin struct {
	Source Source
	Pos    token.Position
}

// Origin says where a value of the endpoint comes from. The value is named as
// its field in runtime.Policy is; "FingerprintBody" is the body mode of the
// fingerprint, of which "Fingerprint" is the list of headers, and "Status" is
// the status of a success, and "Strict" how a body is read.
func (e *Endpoint) Origin(value string) Origin {
	if o, ok := e.origins[value]; ok {
		return o
	}
	return Origin{Source: FromDefault}
}

// exported is what is known of the values' origins after all is resolved. A
// profile is the source of what it changes only.
func (r *resolution) exported(ofInterface, ofMethod *arguments) map[string]Origin {
	sources := map[level]Source{byProfile: FromProfile, byInterface: FromInterface, byMethod: FromMethod}
	all := map[string]Origin{}
	for field, o := range r.origins {
		if o.level == byProfile && !r.changedByProfile(field) {
			continue
		}
		all[field] = Origin{sources[o.level], o.pos}
	}
	if !r.timeoutGiven {
		all["Timeout"] = Origin{FromLease, all["Lease"].Pos}
	}
	if status := ofMethod.Endpoint.Status; status.given() {
		all["Status"] = Origin{FromMethod, status.Pos}
	}
	if mode := ofMethod.Request.Mode; mode.given() {
		all["Strict"] = Origin{FromMethod, mode.Pos}
	} else if mode := ofInterface.Request.Mode; mode.given() {
		all["Strict"] = Origin{FromInterface, mode.Pos}
	}
	return all
}

// changedByProfile reports whether a field, which nobody but the profile has
// set, has another value than it has by default.
func (r *resolution) changedByProfile(field string) bool {
	if field == "Failure" {
		return !r.failureByShape
	}
	standard := profiles[0].policy
	own, without := reflect.ValueOf(r.policy).FieldByName(field), reflect.ValueOf(standard).FieldByName(field)
	return !reflect.DeepEqual(own.Interface(), without.Interface())
}
