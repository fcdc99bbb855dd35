package ledgers_test

import (
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/ledgers/harness"
)

func TestModes(t *testing.T) {
	for _, driverName := range []string{modernc, mattn} {
		t.Run(driverName, func(t *testing.T) { harness.Modes(t, driverName) })
	}
}
