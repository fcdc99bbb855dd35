package generate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/idemgen/idemgen/internal/regular"
)

// roots are the folders that a run may change something in: those of the modules
// that it writes into. No link leads out of one, whatever was put in its place
// after it was looked at. The zero value is ready.
type roots struct{ open map[string]*os.Root }

func (r *roots) close() {
	for _, root := range r.open {
		root.Close()
	}
	r.open = nil
}

// of is the root that a path lies in, and its name there.
func (r *roots) of(path string) (*os.Root, string, error) {
	folder := rootFolder(path)
	root := r.open[folder]
	if root == nil {
		var err error
		if root, err = os.OpenRoot(folder); err != nil {
			return nil, "", err
		}
		if r.open == nil {
			r.open = map[string]*os.Root{}
		}
		r.open[folder] = root
	}
	name, err := filepath.Rel(folder, path)
	return root, name, err
}

// rootFolder is the folder of the module that a path lies in; where there is
// none, the innermost folder around it that exists.
func rootFolder(path string) string {
	if folder := filepath.Dir(path); moduleRoot(folder) != folder || exists(filepath.Join(folder, "go.mod")) {
		return moduleRoot(folder)
	}
	for folder := filepath.Dir(path); ; folder = filepath.Dir(folder) {
		if info, err := os.Stat(folder); err == nil && info.IsDir() || filepath.Dir(folder) == folder {
			return folder
		}
	}
}

// do does something to a path by its name in its root.
func do[T any](r *roots, path string, f func(root *os.Root, name string) (T, error)) (T, error) {
	root, name, err := r.of(path)
	if err != nil {
		var none T
		return none, err
	}
	return f(root, name)
}

func done(err error) (struct{}, error) { return struct{}{}, err }

func (r *roots) stat(path string) (fs.FileInfo, error)  { return do(r, path, (*os.Root).Stat) }
func (r *roots) lstat(path string) (fs.FileInfo, error) { return do(r, path, (*os.Root).Lstat) }
func (r *roots) readFile(path string) ([]byte, error)   { return do(r, path, regular.ReadIn) }

func (r *roots) readDir(path string) ([]fs.DirEntry, error) {
	return do(r, path, func(root *os.Root, name string) ([]fs.DirEntry, error) {
		folder, err := root.Open(name)
		if err != nil {
			return nil, err
		}
		defer folder.Close()
		return folder.ReadDir(-1)
	})
}

func (r *roots) mkdir(path string, mode fs.FileMode) error {
	_, err := do(r, path, func(root *os.Root, name string) (struct{}, error) { return done(root.Mkdir(name, mode)) })
	return err
}

func (r *roots) writeFile(path string, content []byte, mode fs.FileMode) error {
	_, err := do(r, path, func(root *os.Root, name string) (struct{}, error) {
		// The name is one that nothing stood under a moment ago.
		file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return done(err)
		}
		_, err = file.Write(content)
		return done(errors.Join(err, file.Close()))
	})
	return err
}

func (r *roots) chmod(path string, mode fs.FileMode) error {
	_, err := do(r, path, func(root *os.Root, name string) (struct{}, error) { return done(root.Chmod(name, mode)) })
	return err
}

// remove removes a file or an empty folder, but no root.
func (r *roots) remove(path string) error {
	_, err := do(r, path, func(root *os.Root, name string) (struct{}, error) {
		if name == "." {
			return done(fs.ErrInvalid)
		}
		return done(root.Remove(name))
	})
	return err
}

// rename renames a file inside its folder.
func (r *roots) rename(from, to string) error {
	_, err := do(r, to, func(root *os.Root, name string) (struct{}, error) {
		return done(root.Rename(filepath.Join(filepath.Dir(name), filepath.Base(from)), name))
	})
	return err
}
