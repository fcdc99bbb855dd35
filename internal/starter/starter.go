// Package starter writes a package to begin with: an annotated interface, its
// implementation, and a server on SQLite. It generates, builds and runs.
package starter

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/idemgen/idemgen/internal/source"
)

//go:embed files/*.tmpl
var files embed.FS

// Starter is a package to begin with, before it is written.
type Starter struct {
	// Package is its name; Import its import path.
	Package, Import string
	// Dir is its folder, and Command that of its server, absolute.
	Dir, Command string

	content map[string][]byte // by absolute path
	order   []string
}

// templates are the files, in the order in which a reader wants them.
var templates = []struct{ template, target string }{
	{"api.go.tmpl", "{{.}}.go"},
	{"service.go.tmpl", "service.go"},
	{"main.go.tmpl", "cmd/{{.}}/main.go"},
}

// Named reports whether an import of the package names it: where its path ends
// otherwise.
func (s *Starter) Named() bool { return path.Base(s.Import) != s.Package }

// New makes the package for a folder, which need not exist but lies in a
// module.
func New(dir string) (*Starter, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	module, root := source.ModuleAround(dir)
	if root == "" {
		return nil, fmt.Errorf("%s: there is no go.mod in this folder or above it: a package lives in a module, which go mod init makes", dir)
	}
	if module == "" {
		return nil, fmt.Errorf("%s: it names no module", filepath.Join(root, "go.mod"))
	}
	inside, err := filepath.Rel(root, dir)
	if err != nil {
		return nil, err
	}
	s := &Starter{Dir: dir, Import: path.Join(module, filepath.ToSlash(inside)), content: map[string][]byte{}}
	if s.Package, err = packageName(s.Import); err != nil {
		return nil, err
	}
	s.Command = filepath.Join(dir, "cmd", s.Package)
	for _, file := range templates {
		t, err := template.ParseFS(files, path.Join("files", file.template))
		if err != nil {
			return nil, err
		}
		var content bytes.Buffer
		if err := t.Execute(&content, s); err != nil {
			return nil, err
		}
		name := filepath.Join(dir, filepath.FromSlash(strings.ReplaceAll(file.target, "{{.}}", s.Package)))
		s.content[name] = content.Bytes()
		s.order = append(s.order, name)
	}
	return s, nil
}

// Write writes the files, and returns their names in order. It overwrites
// nothing: when one of them stands already, or the folder holds another
// package, none is written.
func (s *Starter) Write() ([]string, error) {
	if err := s.refuse(); err != nil {
		return nil, err
	}
	for _, name := range s.order {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return nil, err
		}
		if err := create(name, s.content[name]); err != nil {
			return nil, err
		}
	}
	return s.order, nil
}

// refuse says what stands in the way of the files.
func (s *Starter) refuse() error {
	for _, name := range s.order {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s exists: nothing is overwritten", name)
		}
	}
	for _, folder := range []string{s.Dir, s.Command} {
		present, err := filepath.Glob(filepath.Join(escaped(folder), "*.go"))
		if err != nil {
			return err
		}
		if len(present) > 0 {
			return fmt.Errorf("%s exists: a starter package is written into a folder without Go files, so that nothing is overwritten", present[0])
		}
	}
	return nil
}

// escaped is a folder's name with what Glob would read as a pattern escaped.
func escaped(folder string) string {
	if os.PathSeparator == '\\' {
		return folder // where \ separates, nothing can be escaped
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(folder)
}

// create writes a file that must not exist.
func create(name string, content []byte) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}
