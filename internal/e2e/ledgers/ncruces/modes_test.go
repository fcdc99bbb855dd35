package ncruces_test

import (
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/ledgers/harness"
)

func TestModes(t *testing.T) { harness.Modes(t, "sqlite3") }
