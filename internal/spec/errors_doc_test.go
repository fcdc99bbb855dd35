package spec_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/spec"
	"github.com/idemgen/idemgen/internal/vet"
)

var update = flag.Bool("update", false, "write the documentation anew")

// The reference page of the errors is made from the rules.
func TestErrorsPage(t *testing.T) {
	const file = "../../docs/errors.md"
	var b strings.Builder
	b.WriteString("# Errors of the generator\n\n" +
		"Generation reports every broken rule at once, sorted, as `file:line:col: message`. Each rule has a stable code: a rule\n" +
		"keeps its code when its message changes, and a code is never given to another rule.\n\n" +
		"The codes are in the output of `-json`.\n\n")
	writeRules(&b, spec.Rules())
	b.WriteString("\n## Findings of `idemgen vet`\n\n" +
		"What is in the bodies of handlers cannot be seen at generation; `idemgen vet`, or `go vet -vettool=$(which idemgen)`, looks\n" +
		"there. A handler is a method of a type that implements an annotated interface, with all that it calls in its package.\n\n")
	writeRules(&b, vet.Rules())
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.ReplaceAll(string(text), "\r\n", "\n"); got != b.String() {
		t.Errorf("docs/errors.md is not what the rules say; run go test ./internal/spec -run ErrorsPage -update")
	}
}

func writeRules(b *strings.Builder, rules []spec.Rule) {
	b.WriteString("| code | rule |\n|---|---|\n")
	for _, rule := range rules {
		fmt.Fprintf(b, "| %s | %s |\n", rule.Code, rule.Text)
	}
}

// Codes are stable, so that there is only one rule for each.
func TestCodesDiffer(t *testing.T) {
	seen := map[spec.Code]bool{}
	for _, rule := range append(spec.Rules(), vet.Rules()...) {
		if seen[rule.Code] || rule.Code == "" || rule.Text == "" {
			t.Errorf("the code %q is given twice, or to nothing", rule.Code)
		}
		seen[rule.Code] = true
	}
}
