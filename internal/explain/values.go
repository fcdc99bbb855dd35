package explain

import (
	"fmt"
	"net/textproto"
	"strconv"
	"strings"

	"github.com/idemgen/idemgen/internal/spec"
)

// values lists the policy of an endpoint in the order of the directives, each
// value as it may be written on the method. The directives idem:api and
// idem:endpoint are among them with what they say about the policy.
func values(e *spec.Endpoint) []Value {
	p := e.Policy
	presence := "required"
	if p.KeyOptional {
		presence = "optional"
	}
	var fingerprint []string
	for _, name := range p.Fingerprint.Headers {
		fingerprint = append(fingerprint, textproto.CanonicalMIMEHeaderKey(name))
	}
	l := lister{endpoint: e}
	l.add("api", "Errors", "errors="+string(p.Errors))
	l.add("endpoint", "Operation", "name="+quoted(p.Operation))
	if e.Shape != spec.Standard {
		statuses := strconv.Itoa(e.Status)
		for i, status := range e.Statuses {
			if i > 0 {
				statuses += "," + strconv.Itoa(status)
			}
		}
		l.add("endpoint", "Status", "status="+statuses)
	}
	l.add("key", "KeyOptional", presence)
	l.add("key", "KeyHeader", "header="+p.KeyHeader)
	l.add("key", "KeySyntax", "syntax="+string(p.KeySyntax))
	l.add("key", "KeyMax", "max="+strconv.Itoa(p.KeyMax))
	l.add("fingerprint", "Fingerprint", orNone(fingerprint, " "))
	l.add("fingerprint", "FingerprintBody", "body="+string(p.Fingerprint.Body))
	if e.In != nil && e.In.Body {
		mode := "lenient"
		if e.In.Strict {
			mode = "strict"
		}
		l.add("request", "Strict", mode)
	}
	l.add("request", "RequestMax", "max="+size(p.RequestMax))
	l.add("request", "Encodings", "encoding="+orNone(p.Encodings, ","))
	l.add("response", "ResponseMax", "max="+size(p.ResponseMax))
	l.add("response", "Replay", "replay="+orNone(spec.ReplayWords(p.Replay), ","))
	l.add("lease", "Lease", duration(p.Lease))
	l.add("lease", "Timeout", "timeout="+duration(p.Timeout))
	l.add("lease", "Renew", "renew="+onOff(p.Renew))
	l.add("retain", "Retain", duration(p.Retain))
	l.add("retain", "Sweep", "sweep="+strconv.Itoa(p.Sweep))
	l.add("retain", "Gone", "gone="+duration(p.Gone))
	l.add("scope", "Scope", string(p.Scope))
	l.add("on", "Mismatch", "mismatch="+strconv.Itoa(p.Mismatch))
	l.add("on", "Failure", "failure="+string(p.Failure))
	l.add("on", "Wait", "wait="+duration(p.Wait))
	if l.endpoint.Tx != nil {
		mode := "twice"
		if p.Once {
			mode = "once"
		}
		l.add("commit", "Once", mode)
		l.add("commit", "Retry", "retry="+strconv.Itoa(p.Retry))
	}
	return l.values
}

// lister lists the values of one endpoint.
type lister struct {
	endpoint *spec.Endpoint
	values   []Value
}

func (l *lister) add(directive, field, argument string) {
	origin := l.endpoint.Origin(field)
	l.values = append(l.values, Value{
		Directive: spec.Tool + ":" + directive, Argument: argument,
		From: string(origin.Source), File: origin.Pos.Filename, Line: origin.Pos.Line,
	})
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// orNone is a list as a directive has it.
func orNone(list []string, separator string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, separator)
}

// quoted is a value as a directive has it: in quotes when it has spaces.
func quoted(value string) string {
	if strings.ContainsAny(value, " \t\"`") {
		return strconv.Quote(value)
	}
	return value
}

// size is a number of bytes in the largest unit that divides it.
func size(n int64) string {
	switch {
	case n > 0 && n%(1<<20) == 0:
		return fmt.Sprintf("%dMiB", n>>20)
	case n > 0 && n%(1<<10) == 0:
		return fmt.Sprintf("%dKiB", n>>10)
	default:
		return fmt.Sprintf("%dB", n)
	}
}
