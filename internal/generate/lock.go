package generate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// locker locks folders against other runs.
type locker struct {
	// dir has the lock files.
	dir string
	// patience is how long a run waits for another one, and mention after how
	// long it says so.
	patience, mention time.Duration
	// waits is told what a run waits for; nil tells nobody.
	waits func(text string)
}

// lockFolders locks folders and returns what releases them. It waits for a run
// that has one of them, but not for ever. Folders are locked in the order given,
// which must be the same in every run, so that no two wait for each other. The
// locks live in a folder of the user's own, not in his tree.
func (r *Result) lockFolders(folders []string) (release func(), err error) {
	dir, err := lockFolder()
	if err != nil {
		return nil, fmt.Errorf("cannot lock the folders to write: %w", err)
	}
	l := &locker{dir: dir, patience: time.Minute, mention: time.Second, waits: r.Waits}
	return l.all(folders, r.Name)
}

// lockFolder is the folder of the locks, which is made when it is missing. It
// lies in the user's cache, or else among temporary files, where another
// account could have made it first, to lead the lock files elsewhere or to hold
// them.
func lockFolder() (string, error) {
	if cache, err := os.UserCacheDir(); err == nil {
		dir := filepath.Join(cache, "idemgen", "locks")
		if os.MkdirAll(dir, 0o700) == nil && checkOwn(dir) == nil {
			return dir, nil
		}
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("idemgen-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return dir, checkOwn(dir)
}

// checkOwn says why a folder is not this user's alone.
func checkOwn(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no folder: remove it", dir)
	case !isOwn(info):
		return fmt.Errorf("%s belongs to another account: remove it, or set TMPDIR or XDG_CACHE_HOME to a folder of your own", dir)
	case info.Mode().Perm()&0o022 != 0 && checksModes:
		return fmt.Errorf("%s can be written to by others: take the right from them with chmod 700", dir)
	default:
		return nil
	}
}

func (l *locker) all(folders []string, name func(string) string) (release func(), err error) {
	var files []*lockedfile.File
	release = func() {
		for _, file := range files {
			file.Close()
		}
	}
	for _, folder := range folders {
		sum := sha256.Sum256([]byte(realFolder(folder)))
		file, err := l.one(filepath.Join(l.dir, hex.EncodeToString(sum[:8])+".lock"), name(folder))
		if err != nil {
			release()
			return nil, err
		}
		files = append(files, file)
	}
	return release, nil
}

// one takes a lock and writes into its file who has it.
func (l *locker) one(path, folder string) (*lockedfile.File, error) {
	type outcome struct {
		file *lockedfile.File
		err  error
	}
	taken := make(chan outcome, 1)
	go func() {
		file, err := lockedfile.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		taken <- outcome{file, err}
	}()
	mention, end := time.NewTimer(l.mention), time.NewTimer(l.patience)
	defer mention.Stop()
	defer end.Stop()
	for {
		select {
		case o := <-taken:
			if o.err != nil {
				return nil, fmt.Errorf("cannot lock %s: %w", folder, o.err)
			}
			// That nobody can read it does no harm.
			if o.file.Truncate(0) == nil {
				_, _ = o.file.WriteString(strconv.Itoa(os.Getpid()))
			}
			return o.file, nil
		case <-mention.C:
			if l.waits != nil {
				l.waits(fmt.Sprintf("waiting for %s, which writes into %s", holder(path), folder))
			}
		case <-end.C:
			// The lock may come later.
			go func() {
				if o := <-taken; o.err == nil {
					o.file.Close()
				}
			}()
			return nil, fmt.Errorf("cannot lock %s: %s has been writing into it for %s: end it, or run again when it is done", folder, holder(path), l.patience)
		}
	}
}

// holder names the process that has a lock, as far as its file says.
func holder(path string) string {
	content, err := os.ReadFile(path)
	number := strings.TrimSpace(string(content))
	if _, malformed := strconv.Atoi(number); err != nil || malformed != nil {
		return "another idemgen"
	}
	return "another idemgen, process " + number + ","
}

// realFolder is a folder without links in its path, as far as it exists: two
// names of one folder are one lock.
func realFolder(folder string) string {
	for existing := folder; ; existing = filepath.Dir(existing) {
		real, err := filepath.EvalSymlinks(existing)
		if err == nil {
			rest, err := filepath.Rel(existing, folder)
			if err != nil {
				return folder
			}
			return filepath.Join(real, rest)
		}
		if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(existing) == existing {
			return folder
		}
	}
}
