package ledgers_test

import (
	"path/filepath"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/ledgers/emitted/plain"
	"github.com/idemgen/idemgen/internal/e2e/ledgers/harness"
	"github.com/idemgen/idemgen/internal/e2e/rig"
)

// The statements of docs/monitoring.md run.
func TestDocumentedStatements(t *testing.T) {
	p := harness.File(t, modernc, filepath.Join(t.TempDir(), "ledger.db"))
	l, err := plain.Open(t.Context(), p.Writer)
	if err != nil {
		t.Fatal(err)
	}
	rig.Insert(t, l, "k")
	for _, statement := range rig.Documented(t, "sqlite") {
		if _, err := p.Reader.Exec(statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
}
