package spec

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the documentation anew")

// The reference page of the errors is made from the rules.
func TestErrorsPage(t *testing.T) {
	const file = "../../docs/errors.md"
	var b strings.Builder
	b.WriteString("# Errors of the generator\n\n" +
		"Generation reports every broken rule at once, sorted, as `file:line:col: message`. Each rule has a stable code: a rule\n" +
		"keeps its code when its message changes, and a code is never given to another rule.\n\n" +
		"| code | rule |\n|---|---|\n")
	for _, rule := range Rules() {
		fmt.Fprintf(&b, "| %s | %s |\n", rule.Code, rule.Text)
	}
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
