package servers

import (
	"crypto/rand"
	"os"
)

// newPassword makes a password for one run. A proxy makes a server that has only
// a socket reachable from every account of the machine.
func newPassword() string { return rand.Text() }

// writeSecret writes a file that its owner alone can read.
func writeSecret(owner, file, text string) error {
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	return own(owner, file)
}
