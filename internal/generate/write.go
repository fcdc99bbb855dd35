package generate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// Write makes the disk agree with the result, wholly or not at all: when a step
// fails, every step before it is undone. It returns what it did, in order of
// path; files that agree already are not touched.
//
// New content is first written in full beside its target and then renamed over
// it, so that no reader sees half a file. A lock on each folder keeps two runs
// from mixing their files; it holds among the processes of one account on one
// machine. A run waits for another one, says so, and gives up after a minute.
func (r *Result) Write() ([]Difference, error) {
	release, err := r.lockFolders(r.folders())
	if err != nil {
		return nil, err
	}
	defer release()
	t := &transaction{name: r.Name}
	defer t.roots.close()
	for _, folder := range r.folders() {
		t.removeLeftovers(folder)
	}
	// Only now, under the lock, is what stands on disk certain.
	differences, err := r.Compare()
	if err != nil {
		return nil, err
	}
	if err := t.apply(differences); err != nil {
		return nil, errors.Join(err, t.undo())
	}
	t.cleanUp()
	t.removeEmptyFolders(differences)
	return differences, nil
}

// folders are the folders that the result has files in, sorted, each once.
func (r *Result) folders() []string {
	var folders []string
	for file := range r.Files {
		folders = append(folders, filepath.Dir(file))
	}
	for _, file := range r.Stale {
		folders = append(folders, filepath.Dir(file))
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// temporary is how the names of files begin that stand beside a target while it
// is being replaced. The go command does not look at them.
const temporary = ".idemgen-"

// leftover matches the temporary files of a run that was killed.
var leftover = regexp.MustCompile(`^\.idemgen-[0-9]+-[0-9]+-`)

// removeLeftovers removes what a killed run left in a folder. Under the lock no
// other run is at work there.
func (t *transaction) removeLeftovers(folder string) {
	entries, _ := t.roots.readDir(folder)
	for _, entry := range entries {
		if leftover.MatchString(entry.Name()) && entry.Type().IsRegular() {
			_ = t.roots.remove(filepath.Join(folder, entry.Name()))
		}
	}
}

// transaction is a number of changes to the disk that are made together.
type transaction struct {
	name    func(file string) string // for messages
	roots   roots
	undoers []func() error // the inverse of each step that was done
	waste   []string       // temporary files to remove in the end
	made    []string       // folders, outer ones first
}

// apply does all that can fail for lack of room or rights first, then the
// renames, and removes nothing before everything new stands.
func (t *transaction) apply(differences []Difference) error {
	fresh := map[string]string{} // target to the temporary file of its new content
	for _, d := range differences {
		if d.Kind == Stale {
			continue
		}
		if err := t.makeFolder(filepath.Dir(d.Path)); err != nil {
			return t.writeError(d.Path, err)
		}
		name, err := t.create(d)
		if err != nil {
			return t.writeError(d.Path, err)
		}
		fresh[d.Path] = name
	}
	for _, d := range differences {
		if d.Kind == Stale {
			continue
		}
		if err := t.replace(d, fresh[d.Path]); err != nil {
			return t.writeError(d.Path, err)
		}
	}
	for _, d := range differences {
		if d.Kind != Stale {
			continue
		}
		if err := t.setAside(d.Path); err != nil {
			return fmt.Errorf("cannot remove %s: %s", t.name(d.Path), reasonOf(err))
		}
	}
	return nil
}

func (t *transaction) writeError(file string, err error) error {
	return fmt.Errorf("cannot write %s: %s", t.name(file), reasonOf(err))
}

// makeFolder makes a folder and its parents, as far as they are missing.
func (t *transaction) makeFolder(folder string) error {
	if _, err := t.roots.stat(folder); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := t.makeFolder(filepath.Dir(folder)); err != nil {
		return err
	}
	if err := t.roots.mkdir(folder, 0o755); err != nil {
		return err
	}
	t.made = append(t.made, folder)
	return nil
}

// create writes the new content of a file beside it, with the mode that the
// file has.
func (t *transaction) create(d Difference) (string, error) {
	mode := fs.FileMode(0o644)
	if d.Kind == Changed {
		info, err := t.roots.lstat(d.Path)
		if err != nil {
			return "", err
		}
		mode = info.Mode().Perm()
	}
	name, err := t.temporaryName(d.Path)
	if err != nil {
		return "", err
	}
	if err := t.roots.writeFile(name, d.New, mode); err != nil {
		return "", err
	}
	if d.Kind == Changed { // the process's umask may have taken bits away
		return name, t.roots.chmod(name, mode)
	}
	return name, nil
}

// temporaryName reserves an unused name beside a file. The transaction removes
// what is left under it.
func (t *transaction) temporaryName(file string) (string, error) {
	for n := 0; ; n++ {
		name := filepath.Join(filepath.Dir(file), fmt.Sprintf("%s%d-%d-%s", temporary, os.Getpid(), n, filepath.Base(file)))
		if _, err := t.roots.lstat(name); errors.Is(err, fs.ErrNotExist) {
			t.waste = append(t.waste, name)
			return name, nil
		} else if err != nil {
			return "", err
		}
	}
}

// replace puts a new file in the place of a target. A copy of the old one is
// kept until the transaction ends, so that the target is never missing.
func (t *transaction) replace(d Difference, fresh string) error {
	if d.Kind == Missing {
		if err := t.roots.rename(fresh, d.Path); err != nil {
			return err
		}
		t.undoers = append(t.undoers, func() error { return t.roots.remove(d.Path) })
		return nil
	}
	backup, err := t.copyAside(d.Path)
	if err != nil {
		return err
	}
	if err := t.roots.rename(fresh, d.Path); err != nil {
		return err
	}
	t.undoers = append(t.undoers, func() error { return t.roots.rename(backup, d.Path) })
	return nil
}

// copyAside copies a file, with its mode, to a temporary one beside it.
func (t *transaction) copyAside(file string) (string, error) {
	info, err := t.roots.lstat(file)
	if err != nil {
		return "", err
	}
	content, err := t.roots.readFile(file)
	if err != nil {
		return "", err
	}
	backup, err := t.temporaryName(file)
	if err != nil {
		return "", err
	}
	if err := t.roots.writeFile(backup, content, info.Mode().Perm()); err != nil {
		return "", err
	}
	return backup, t.roots.chmod(backup, info.Mode().Perm())
}

// setAside renames a file to a temporary one beside it.
func (t *transaction) setAside(file string) error {
	backup, err := t.temporaryName(file)
	if err != nil {
		return err
	}
	if err := t.roots.rename(file, backup); err != nil {
		return err
	}
	t.undoers = append(t.undoers, func() error { return t.roots.rename(backup, file) })
	return nil
}

// undo takes all steps back, the last one first. When one cannot be taken back,
// the temporary files stay: one of them has the old content.
func (t *transaction) undo() error {
	var failed []error
	for _, undo := range slices.Backward(t.undoers) {
		if err := undo(); err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("and what was changed before could not be restored, see the files named %s* there: %w", temporary, errors.Join(failed...))
	}
	t.cleanUp()
	for _, folder := range slices.Backward(t.made) {
		_ = t.roots.remove(folder) // an empty folder does no harm
	}
	return nil
}

// cleanUp removes the temporary files. One that stays behind does no harm, and
// what was asked for stands, so it is no error.
func (t *transaction) cleanUp() {
	for _, name := range t.waste {
		_ = t.roots.remove(name)
	}
}

// removeEmptyFolders removes the folders whose last file was stale, and those
// around them that have become empty. A folder with anything in it stays, since
// removing refuses it, and so does the module's own.
func (t *transaction) removeEmptyFolders(differences []Difference) {
	for _, d := range differences {
		if d.Kind != Stale {
			continue
		}
		for folder := filepath.Dir(d.Path); t.roots.remove(folder) == nil; folder = filepath.Dir(folder) {
		}
	}
}
