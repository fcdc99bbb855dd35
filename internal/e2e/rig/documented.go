package rig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/process"
)

// Documented are the statements of docs/monitoring.md for an engine, in order.
func Documented(t testing.TB, engine string) (statements []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(process.Root(t), "docs", "monitoring.md"))
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(string(text), "```sql ") {
		if rest, ok := strings.CutPrefix(block, engine+"\n"); ok {
			statement, _, _ := strings.Cut(rest, "```")
			statements = append(statements, statement)
		}
	}
	if len(statements) == 0 {
		t.Fatalf("docs/monitoring.md has no statements for %s", engine)
	}
	return statements
}
