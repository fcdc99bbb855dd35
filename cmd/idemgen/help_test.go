package main

import (
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/spec"
)

func TestHelpAboutDirectives(t *testing.T) {
	stdout, stderr := idemgen(t, 0, "help", "directives")
	want(t, "stderr", stderr, "")
	for _, d := range spec.Help() {
		wantIn(t, "help directives", stdout, "\n//"+d.Name+", on ")
		for _, a := range d.Arguments {
			wantIn(t, "help directives", stdout, "\n      "+a.Usage+"\n")
		}
		text, _ := spec.HelpText(d.Name)
		one, _ := idemgen(t, 0, "help", d.Name)
		want(t, "help "+d.Name, one, text)
		short, _ := idemgen(t, 0, "help", strings.TrimPrefix(d.Name, "idem:"))
		want(t, "help, short", short, text)
	}
	for line := range strings.Lines(stdout) {
		if len(line) > helpWidth+1 {
			t.Errorf("the line is too wide: %s", line)
		}
	}
}

// TestDirectivesAreNoCommands keeps the two apart: help is about both.
func TestDirectivesAreNoCommands(t *testing.T) {
	for _, command := range (&app{}).root().Commands() {
		if _, ok := spec.HelpText(command.Name()); ok {
			t.Errorf("%s is a command and a directive", command.Name())
		}
	}
}

func TestHelpTopics(t *testing.T) {
	stdout, _ := idemgen(t, 0, "help")
	wantIn(t, "stdout", stdout, "explain ")
	for _, command := range []string{"check", "explain", "help", "init", "vet", "version"} {
		stdout, _ := idemgen(t, 0, "help", command)
		wantIn(t, "help "+command, stdout, "idemgen "+command)
	}
	for topic, part := range map[string]string{
		"leese":     `no help about "leese" (did you mean lease?)`,
		"idem:kye":  "(did you mean idem:key?)",
		"nonsense!": "such as idem:lease",
	} {
		_, stderr := idemgen(t, 2, "help", topic)
		wantIn(t, "stderr", stderr, part)
	}
}
