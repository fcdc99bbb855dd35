package module_test

import (
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/process"
)

// TestProve: the fault suite runs beside a user's module, as docs/proof.md says,
// and leaves no trace in it. What it does then is tested in internal/e2e/prove.
func TestProve(t *testing.T) {
	t.Parallel()
	m := published(t)
	m.run(t, "go", "mod", "init", "example.com/orders")
	before := m.read(t, "go.mod")
	out, err := process.Try(m.dir, m.env, "go", "run", idemgenPath+"/prove@latest")
	if err == nil || !strings.Contains(out, "give the server's command line") {
		t.Errorf("without a server it said %s (%v)", out, err)
	}
	if after := m.read(t, "go.mod"); after != before {
		t.Errorf("go.mod is now\n%s", after)
	}
}
