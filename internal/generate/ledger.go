package generate

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/internal/regular"
	"github.com/idemgen/idemgen/internal/source"
	"github.com/idemgen/idemgen/internal/spec"
	"github.com/idemgen/idemgen/queries"
)

// ledgerFile is the file of a ledger folder that carries our mark for all.
const ledgerFile = "ledger.go"

// ledger is a ledger package to emit. Interfaces, also of several packages,
// may share one; package spec has checked that they agree about it.
type ledger struct {
	folder        string // absolute
	engine, table string
	owner         string // an interface that asks for it
	module        string // folder of its module
	spec          *spec.Ledger
}

// engineFolders are the folders of a ledger by engine, slash-separated and
// relative to the package's: the one that was asked for, or with several
// engines one inside it for each.
func engineFolders(l *spec.Ledger) map[string]string {
	folders := map[string]string{}
	for _, engine := range l.Engines {
		folders[engine] = l.Dir
		if len(l.Engines) > 1 {
			folders[engine] = path.Join(l.Dir, engine)
		}
	}
	return folders
}

// ledgerFolders are the ledger folders of a package, sorted, each once.
func ledgerFolders(p *spec.Package) []string {
	folders := map[string]bool{}
	for _, api := range p.APIs {
		if api.Ledger != nil {
			for _, folder := range engineFolders(api.Ledger) {
				folders[folder] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(folders))
}

// ledgersOf notes the ledgers that a package asks for.
func (r *run) ledgersOf(p *spec.Package) {
	for _, api := range p.APIs {
		if api.Ledger == nil {
			continue
		}
		for engine, folder := range engineFolders(api.Ledger) {
			absolute := filepath.Join(p.Dir, filepath.FromSlash(folder))
			if r.ledgers[absolute] == nil {
				r.ledgers[absolute] = &ledger{absolute, engine, api.Ledger.Table, api.Name, moduleRoot(p.Dir), api.Ledger}
			}
		}
	}
}

// emit adds the files of a ledger package.
func (r *run) emit(l *ledger) error {
	files, err := queries.Emit(l.engine, l.spec.Driver, filepath.Base(l.folder), l.table)
	if err != nil {
		return fmt.Errorf("%s: %w", l.spec.Pos, err)
	}
	if reason := r.result.refuseFolder(l); reason != "" {
		r.report(spec.Problem{Pos: l.spec.Pos, Code: spec.CodeForeign, Message: fmt.Sprintf("idem:ledger of %s: %s", l.owner, reason)})
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !oursInLedger(name, files[name]) {
			// It would be refused as somebody else's in the next run.
			return fmt.Errorf("internal error: %s of the ledger does not carry our mark", name)
		}
		target := filepath.Join(l.folder, name)
		if reason := r.result.refuseFile(target, oursInLedger); reason != "" {
			r.report(spec.Problem{Pos: l.spec.Pos, Code: spec.CodeForeign, Message: fmt.Sprintf("idem:ledger of %s: %s", l.owner, reason)})
			continue
		}
		r.result.Files[target] = files[name]
	}
	return nil
}

// refuseFolder says why a ledger cannot be emitted into its folder, or "".
func (r *Result) refuseFolder(l *ledger) string {
	name := r.Name(l.folder)
	if real, outside := leadsOutside(l.folder, l.module); outside {
		return fmt.Sprintf("folder %s leads to %s by a symbolic link, outside the module: idemgen writes inside it only", name, real)
	}
	entries, err := os.ReadDir(l.folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil:
		return fmt.Sprintf("folder %s cannot be read: %s", name, reasonOf(err))
	case len(entries) == 0 || isLedger(l.folder):
		return ""
	}
	for _, entry := range entries {
		// The folders of the engines, when the ledger used to have several.
		if !entry.IsDir() || !isLedger(filepath.Join(l.folder, entry.Name())) {
			return fmt.Sprintf("folder %s is not empty, and not idemgen's: it has no %s with the line %q; name another with dir=", name, ledgerFile, source.Header)
		}
	}
	return ""
}

// isLedger reports whether a folder is a ledger package that idemgen emitted.
func isLedger(folder string) bool {
	content, err := regular.ReadFile(filepath.Join(folder, ledgerFile))
	return err == nil && source.IsOutput(content)
}

// moduleRoot is the folder of the module that a folder lies in, or the folder
// itself when there is none.
func moduleRoot(folder string) string {
	for root := folder; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return root
		}
		if filepath.Dir(root) == root {
			return folder
		}
	}
}

// leadsOutside reports whether a folder, or the part of its path that exists,
// leads out of root by symbolic links, and where.
func leadsOutside(folder, root string) (real string, outside bool) {
	base, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", false // what does not exist has no links either
	}
	for existing := folder; ; existing = filepath.Dir(existing) {
		real, err = filepath.EvalSymlinks(existing)
		if err == nil {
			return real, !within(real, base)
		}
		if filepath.Dir(existing) == existing {
			return "", false
		}
	}
}

// within reports whether a path is root or lies below it.
func within(path, root string) bool {
	return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, string(filepath.Separator))+string(filepath.Separator))
}
