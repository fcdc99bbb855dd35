package spec_test

import (
	"os"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/spec"
)

// The table of directives in the README is made from the grammar.
func TestReadmeTable(t *testing.T) {
	const file = "../../README.md"
	const begin, end = "<!-- directives -->\n", "<!-- /directives -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	readme := strings.ReplaceAll(string(text), "\r\n", "\n")
	before, rest, found := strings.Cut(readme, begin)
	table, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("README.md has no section between %s and %s", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	if table == spec.HelpTable() {
		return
	}
	if !*update {
		t.Fatal("the table of directives in README.md is not what the grammar says; run go test ./internal/spec -run ReadmeTable -update")
	}
	if err := os.WriteFile(file, []byte(before+begin+spec.HelpTable()+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
