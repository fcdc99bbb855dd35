//go:build unix

package generate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Another account that makes the folder first gets neither our lock files nor
// our patience.
func TestLockFolderOfAnother(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(dir string) error
		want  string
	}{
		"another account": {func(dir string) error {
			if err := os.Mkdir(dir, 0o777); err != nil {
				return err
			}
			return os.Chown(dir, 65534, 65534)
		}, "belongs to another account"},
		"a link": {func(dir string) error { return os.Symlink(t.TempDir(), dir) }, "is no folder"},
		"open": {func(dir string) error {
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			return os.Chmod(dir, 0o777)
		}, "can be written to by others"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "another account" && os.Getuid() != 0 {
				t.Skip("only root gives folders away")
			}
			dir := filepath.Join(t.TempDir(), "locks")
			if err := c.spoil(dir); err != nil {
				t.Fatal(err)
			}
			if err := checkOwn(dir); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestLockFolder(t *testing.T) {
	cache, temporary := t.TempDir(), t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("TMPDIR", temporary)
	if dir, err := lockFolder(); err != nil || dir != filepath.Join(cache, "idemgen", "locks") {
		t.Errorf("got %s, %v; want it in the cache", dir, err)
	}
	t.Setenv("XDG_CACHE_HOME", "/dev/null/none")
	dir, err := lockFolder()
	if err != nil || filepath.Dir(dir) != temporary {
		t.Errorf("got %s, %v; want it among temporary files", dir, err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := lockFolder(); err == nil {
		t.Error("a folder that everybody writes to was taken")
	}
}

// A wait says for whom, and ends. Two names of a folder are one lock.
func TestWaitForALock(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "folder")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	link := folder + "-link"
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 1)
	patient := &locker{dir: t.TempDir(), patience: time.Hour, mention: time.Millisecond, waits: func(text string) { said <- text }}
	release, err := patient.all([]string{filepath.Join(folder, "new")}, filepath.Base)
	if err != nil {
		t.Fatal(err)
	}
	hasty := *patient
	hasty.patience, hasty.mention = time.Millisecond, time.Hour
	_, err = hasty.all([]string{filepath.Join(link, "new")}, filepath.Base)
	if err == nil || !strings.Contains(err.Error(), "cannot lock new: another idemgen, process ") {
		t.Errorf("got %v", err)
	}
	second := make(chan error)
	go func() {
		release, err := patient.all([]string{filepath.Join(link, "new")}, filepath.Base)
		if err == nil {
			release()
		}
		second <- err
	}()
	if text := <-said; !strings.Contains(text, "waiting for another idemgen, process ") || !strings.HasSuffix(text, "which writes into new") {
		t.Errorf("it said %q", text)
	}
	release()
	if err := <-second; err != nil {
		t.Error(err)
	}
}
