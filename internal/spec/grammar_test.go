package spec

import (
	"go/token"
	"strings"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// parse reads a directive comment's text after "//idem:".
func parse(t *testing.T, here place, lines ...string) (*arguments, Problems) {
	t.Helper()
	var directives []Directive
	var problems Problems
	for i, line := range lines {
		pos := token.Position{Filename: "f.go", Line: i + 1, Column: 1}
		name, args, _ := strings.Cut(line, " ")
		words, more := SplitWords(args, shift(pos, len("//idem:")+len(name)+1))
		problems = append(problems, more...)
		directives = append(directives, Directive{Name: name, Pos: pos, Words: words, Spoilt: len(more) > 0})
	}
	parsed, more := parseArguments(directives, here)
	return parsed, append(problems, more...)
}

func TestGrammarIsComplete(t *testing.T) {
	if len(grammar) != 12 {
		t.Errorf("there are %d directives", len(grammar))
	}
	for _, d := range grammar {
		if d.help == "" || d.on != onInterface && d.on != onMethod && d.on != onBoth {
			t.Errorf("idem:%s lacks help or place: %+v", d.name, d)
		}
		for _, a := range d.arguments {
			if a.arg == "" || a.help == "" || a.preset == "" != a.required {
				t.Errorf("idem:%s: an argument lacks its name, help or default: %+v", d.name, a)
			}
			if a.key != "" && a.value == "" && len(a.one) == 0 {
				t.Errorf("idem:%s: %s shows no value", d.name, a.arg)
			}
		}
	}
}

// The defaults in the help texts are those of the default policy: written out
// as directives they change nothing.
func TestHelpTellsTheDefaults(t *testing.T) {
	var lines []string
	for _, d := range grammar {
		if d.on != onBoth {
			continue
		}
		line := d.name
		for _, a := range d.arguments {
			value := a.preset
			switch {
			case d.name == "lease" && a.key == "timeout":
				value = "25s" // "5/6 of the lease"
			case d.name == "on" && a.key == "failure":
				value = "store" // "store, or release with a transaction"
			}
			line += " " + keyEquals(a.key) + value
		}
		lines = append(lines, line)
	}
	written, problems := parse(t, onMethod, lines...)
	if len(problems) > 0 {
		t.Fatalf("%v\n%s", problems, strings.Join(lines, "\n"))
	}
	none, _ := parse(t, onInterface)
	got := resolvePolicy(none, written, false).policy
	got.Operation = "op"
	want := runtime.DefaultPolicy("op")
	if got.Fingerprint.String() != want.Fingerprint.String() || strings.Join(got.Replay, ",") != strings.Join(want.Replay, ",") {
		t.Errorf("lists are %v and %v", got.Fingerprint, got.Replay)
	}
	got.Fingerprint, want.Fingerprint, got.Replay, want.Replay = runtime.Rule{}, runtime.Rule{}, nil, nil
	if policyText(got) != policyText(want) {
		t.Errorf("the policy is\n%+v\nwant\n%+v", got, want)
	}
}

func policyText(p runtime.Policy) string {
	return strings.Join([]string{
		p.KeyHeader, string(p.KeySyntax), p.Lease.String(), p.Timeout.String(), p.Retain.String(), p.Gone.String(),
		string(p.Scope), string(p.Failure), string(p.Errors), p.ReplayMarker,
		time.Duration(p.KeyMax).String(), time.Duration(p.RequestMax).String(), time.Duration(p.ResponseMax).String(),
		time.Duration(p.Sweep).String(), time.Duration(p.Mismatch).String(),
	}, " ")
}

func TestHelp(t *testing.T) {
	table := HelpTable()
	for _, d := range Help() {
		if !strings.Contains(table, "| `"+d.Name+"` | "+d.On+" |") {
			t.Errorf("the table has no row for %s", d.Name)
		}
		text, ok := HelpText(d.Name)
		if !ok || !strings.HasPrefix(text, "//"+d.Name+"\n") {
			t.Errorf("the text of %s is %q", d.Name, text)
		}
		for _, a := range d.Arguments {
			if !strings.Contains(text, a.Usage) || !strings.Contains(text, a.Help) {
				t.Errorf("the text of %s lacks %s", d.Name, a.Usage)
			}
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(table), "\n") {
		if cells := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); cells != 5 {
			t.Errorf("a row has %d bars: %s", cells, line)
		}
	}
	if _, ok := HelpText("lease"); !ok {
		t.Error("there is no help without the tool's name")
	}
	if _, ok := HelpText("ttl"); ok {
		t.Error("there is help for what is no directive")
	}
}

func TestParseArguments(t *testing.T) {
	parsed, problems := parse(t, onMethod,
		"endpoint POST /orders/{id} status=201",
		"fingerprint Content-Type,X-A X-B",
		"key optional max=64",
		"lease 30s timeout=20s")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if got := parsed.Endpoint; got.Method.V != "POST" || got.Pattern.V != "/orders/{id}" || len(got.Status.V) != 1 || got.Status.V[0].Text != "201" || got.Name.given() {
		t.Errorf("endpoint: %+v", got)
	}
	if got := parsed.Fingerprint.Headers.V; len(got) != 3 || got[1].Text != "X-A" || got[1].Pos.Column != 33 || got[2].Pos.Column != 37 {
		t.Errorf("fingerprint: %+v", got)
	}
	if got := parsed.Key; got.Presence.V != "optional" || got.Max.V != 64 || got.Header.given() {
		t.Errorf("key: %+v", got)
	}
	if got := parsed.Lease; got.Lease.V != 30*time.Second || got.Timeout.V != 20*time.Second {
		t.Errorf("lease: %+v", got)
	}
}
