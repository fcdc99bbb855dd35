//go:build unix

package regular

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	must(os.WriteFile(at("file"), []byte("text"), 0o600))
	must(os.WriteFile(at("empty"), nil, 0o600))
	must(os.WriteFile(at("huge"), nil, 0o600))
	must(os.Truncate(at("huge"), Max+1))
	must(os.Symlink("file", at("link")))
	must(os.Symlink("/dev/zero", at("zero")))
	must(syscall.Mkfifo(at("pipe"), 0o600))
	must(os.Mkdir(at("folder"), 0o700))
	for _, c := range []struct {
		name, want string
		err        error
	}{
		{"file", "text", nil},
		{"link", "text", nil},
		{"empty", "", nil},
		{"none", "", fs.ErrNotExist},
		{"zero", "", ErrIrregular},
		{"pipe", "", ErrIrregular},
		{"folder", "", ErrIrregular},
		{"huge", "", ErrTooLarge},
	} {
		content, err := ReadFile(at(c.name))
		if string(content) != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v", c.name, content, err)
		}
		content, err = ReadIn(root, c.name)
		outside := c.name == "zero" && err != nil
		if string(content) != c.want || !errors.Is(err, c.err) && !outside {
			t.Errorf("%s in its root: %q, %v", c.name, content, err)
		}
	}
}
