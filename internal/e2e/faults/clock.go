package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// build builds the server. Flags are for the go command.
func build(ctx context.Context, binary string, flags ...string) error {
	args := append(append([]string{"build", "-o", binary}, flags...), "github.com/idemgen/idemgen/internal/e2e/faults/server")
	if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("build the server: %w\n%s", err, out)
	}
	return nil
}

// Go asks the kernel for the time and not the C library, so that programs which
// stand between a process and its library do not move its clock. Another
// time.Now does: in every other ten seconds it says an hour more, and the
// monotonic clock goes on as before, as when an operator sets a machine's
// clock.
const (
	clockAt  = "mono -= startNano"
	clockAdd = "if mono/10e9%2 == 1 {\n\t\tsec += 3600\n\t}\n\t"
)

// buildAstray builds the server with a clock that jumps by an hour.
func buildAstray(ctx context.Context, binary string) error {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	file := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, now, found := strings.Cut(string(source), "func Now() Time {")
	if !found || !strings.Contains(now, clockAt) {
		return errors.New("this version of Go has another time.Now")
	}
	changed := before + "func Now() Time {" + strings.Replace(now, clockAt, clockAdd+clockAt, 1)
	own := binary + ".time.go"
	if err := os.WriteFile(own, []byte(changed), 0o600); err != nil {
		return err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{file: own}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(binary+".overlay.json", overlay, 0o600); err != nil {
		return err
	}
	return build(ctx, binary, "-overlay", binary+".overlay.json")
}
