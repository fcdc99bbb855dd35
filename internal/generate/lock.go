package generate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// lockFolders locks folders against other runs and returns what releases them.
// It waits for a run that has one of them. Folders are locked in the order
// given, which must be the same in every run, so that no two wait for each
// other. The locks live beside other temporary files, not in the user's tree.
func lockFolders(folders []string) (release func(), err error) {
	// The user's own folder: another user's lock could not be opened.
	locks := filepath.Join(os.TempDir(), fmt.Sprintf("idemgen-%d", os.Getuid()))
	if err := os.MkdirAll(locks, 0o700); err != nil {
		return nil, fmt.Errorf("cannot lock the folders to write: %w", err)
	}
	var unlockers []func()
	release = func() {
		for _, unlock := range unlockers {
			unlock()
		}
	}
	for _, folder := range folders {
		sum := sha256.Sum256([]byte(folder))
		unlock, err := lockedfile.MutexAt(filepath.Join(locks, hex.EncodeToString(sum[:8])+".lock")).Lock()
		if err != nil {
			release()
			return nil, fmt.Errorf("cannot lock %s: %w", folder, err)
		}
		unlockers = append(unlockers, unlock)
	}
	return release, nil
}
