package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// install makes sure that a program is there and returns its path.
func install(program string, folders []string, packages ...string) (string, error) {
	if path, ok := find(program, folders); ok {
		return path, nil
	}
	if _, err := exec.LookPath("apt-get"); err == nil && os.Getuid() == 0 {
		unlock, err := lockInstalls()
		if err != nil {
			return "", err
		}
		defer unlock()
		if path, ok := find(program, folders); ok {
			return path, nil // another process has installed it meanwhile
		}
		for _, args := range [][]string{{"update", "-qq"}, append([]string{"install", "-y", "-qq", "--no-install-recommends"}, packages...)} {
			c := exec.Command("apt-get", args...)
			c.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
			if out, err := c.CombinedOutput(); err != nil {
				return "", fmt.Errorf("install %v: apt-get %s: %w\n%s", packages, args[0], err, out)
			}
		}
		if path, ok := find(program, folders); ok {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is missing: install the Debian packages %v", program, packages)
}

// lockInstalls keeps the tests of several packages, which are processes, from
// installing at once.
func lockInstalls() (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(os.TempDir(), "idemgen-install.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// find looks for a program in folders (which may hold patterns) and in PATH.
func find(program string, folders []string) (string, bool) {
	for _, folder := range folders {
		matches, _ := filepath.Glob(filepath.Join(folder, program))
		if len(matches) > 0 {
			return matches[len(matches)-1], true
		}
	}
	path, err := exec.LookPath(program)
	return path, err == nil
}
