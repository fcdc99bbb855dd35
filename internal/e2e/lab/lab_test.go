// Package lab_test runs the example's lab.
package lab_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/process"
	"github.com/idemgen/idemgen/prove/servers"
)

// A seed gives the same numbers on both databases, and only clients that keep
// their key are charged once for each order.
func TestLab(t *testing.T) {
	postgres, err := servers.StartPostgres()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { postgres.Stop() })
	if err := postgres.Create("lab"); err != nil {
		t.Fatal(err)
	}
	binary := process.Build(t, "../../../example", "./lab")
	lab := func(env ...string) string {
		return process.Run(t, t.TempDir(), process.Env(env...), binary, "-orders", "100", "-seed", "1")
	}
	sqlite := lab()
	for _, again := range []string{lab(), lab("DATABASE_URL=" + postgres.URL("lab"))} {
		if again != sqlite {
			t.Errorf("the numbers differ:\n%s\n%s", sqlite, again)
		}
	}
	t.Log("\n" + sqlite)
	for i, line := range strings.Split(strings.TrimSpace(sqlite), "\n") {
		var name string
		var orders, attempts, charges, double int
		if _, err := fmt.Sscanf(line, "%s orders %d attempts %d charges %d double-charged %d", &name, &orders, &attempts, &charges, &double); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		want := []string{"no-key", "key-per-try", "same-key"}[i]
		once := charges == 100 && double == 0
		if name != want || orders != 100 || attempts <= 100 || once != (name == "same-key") {
			t.Errorf("%q; want %s", line, want)
		}
	}
}
