package faults

import (
	"io"
	"log"
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // what the payment service and net/http say of broken connections
	os.Exit(m.Run())
}

// Nothing that the suite does to servers that keep their promises makes them
// break one.
func TestRun(t *testing.T) {
	report, err := Run(t.Context(), Options{For: 15 * time.Second, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	report.Print(&text)
	t.Log("\n" + text.String())
	if found := report.Violations; len(found) > 0 {
		t.Errorf("%d violations", len(found))
	}
	for _, name := range []string{
		"postgres: servers killed", "postgres: owners paused past the lease", "postgres: connections cut", "postgres: database killed and started",
		"sqlite: servers killed",
	} {
		if report.Attacked[name] == 0 {
			t.Errorf("%s: never", name)
		}
	}
}

// Servers that make each kind of mistake now and then are found out.
func TestMistakes(t *testing.T) {
	report, err := Run(t.Context(), Options{For: 3 * time.Second, Seed: 1, mistaken: true})
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]int{}
	for _, v := range report.Violations {
		rules[v.Rule]++
	}
	t.Log(rules)
	for _, rule := range []string{"effect-iff-completed", "replay-equal", "one-completion", "claimed-run"} {
		if rules[rule] == 0 {
			t.Errorf("%s: not found to be broken", rule)
		}
	}
}
