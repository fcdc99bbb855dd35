package generate

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/internal/regular"
	"github.com/idemgen/idemgen/internal/source"
	"github.com/idemgen/idemgen/internal/spec"
	"github.com/idemgen/idemgen/queries"
	"github.com/idemgen/idemgen/templates"
)

// stale finds the files of ours that nothing asks for any more: the output of
// packages whose annotated interfaces are gone, the ledgers that the previous
// output names and this one does not, and files of ours in the ledgers that
// stay which are not emitted any more.
func (r *run) stale(packages []*spec.Package) {
	var abandoned []string
	for _, p := range packages {
		output := filepath.Join(p.Dir, templates.FileName)
		content, err := regular.ReadFile(output)
		if err != nil || !source.IsOutput(content) {
			continue
		}
		if len(p.APIs) == 0 {
			r.result.Stale = append(r.result.Stale, output)
		}
		for _, folder := range namedLedgers(content, p.Dir) {
			if r.ledgers[folder] == nil && inside(folder, moduleRoot(p.Dir)) && isLedger(folder) {
				abandoned = append(abandoned, folder)
			}
		}
	}
	if len(abandoned) > 0 {
		r.abandon(abandoned, packages)
	}
	for folder := range r.ledgers {
		if isLedger(folder) {
			r.staleIn(folder, ours)
		}
	}
	slices.Sort(r.result.Stale)
	r.result.Stale = slices.Compact(r.result.Stale)
}

// inside reports whether a folder lies in a module, by its name and by where
// links lead.
func inside(folder, module string) bool {
	_, outside := leadsOutside(folder, module)
	return within(folder, module) && !outside
}

// namedLedgers are the ledger folders, absolute, that a generated file names.
// In a file with conflict markers those are the folders of both sides.
func namedLedgers(content []byte, dir string) []string {
	var folders []string
	for line := range strings.Lines(string(content)) {
		folder, found := strings.CutPrefix(strings.TrimRight(line, "\r\n"), templates.LedgerPrefix)
		if found && folder != "" && !filepath.IsAbs(folder) {
			folders = append(folders, filepath.Join(dir, filepath.FromSlash(folder)))
		}
	}
	return folders
}

// abandon marks the files of ledgers as stale, unless a package outside this
// run still uses the ledger.
func (r *run) abandon(folders []string, visited []*spec.Package) {
	names, elsewhere := sqlcNames(), map[string]bool{}
	searched := map[string]bool{}
	for _, p := range visited {
		if root := moduleRoot(p.Dir); !searched[root] {
			searched[root] = true
			ledgersElsewhere(root, visited, elsewhere)
		}
	}
	for _, folder := range folders {
		if elsewhere[folder] {
			continue
		}
		r.staleIn(folder, func(name string, content []byte) bool {
			return ours(name, content) || names[name] && oursInLedger(name, content)
		})
	}
}

// sqlcNames are the names of the files in a ledger folder, of whichever engine.
// A file of sqlc's under another name is the user's own.
func sqlcNames() map[string]bool {
	names := map[string]bool{}
	for _, engine := range []string{"sqlite", "postgres", "mysql"} {
		files, err := queries.Emit(engine, "sql", "ledger", "idempotency_keys")
		if err != nil {
			continue // no such ledger, so there are no files of it
		}
		for name := range files {
			names[name] = true
		}
	}
	return names
}

// ledgersElsewhere adds the ledger folders that the packages of a module which
// were not visited name in their output.
func ledgersElsewhere(root string, visited []*spec.Package, folders map[string]bool) {
	isVisited := func(dir string) bool {
		return slices.ContainsFunc(visited, func(p *spec.Package) bool { return p.Dir == dir })
	}
	walked := root + string(filepath.Separator) + "." // a link is not walked into
	// The function never fails, so neither does the walk.
	_ = filepath.WalkDir(walked, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case entry.IsDir() && path != walked && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		case entry.Name() != templates.FileName || isVisited(filepath.Dir(path)):
			return nil
		}
		if content, err := regular.ReadFile(path); err == nil && source.IsOutput(content) {
			for _, folder := range namedLedgers(content, filepath.Dir(path)) {
				folders[folder] = true
			}
		}
		return nil
	})
}

// staleIn marks the files of a ledger folder that are idemgen's own and not
// generated in this run. Everything else in it stays.
func (r *run) staleIn(folder string, isOurs func(string, []byte) bool) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, entry := range entries {
		file := filepath.Join(folder, entry.Name())
		if _, wanted := r.result.Files[file]; wanted || !entry.Type().IsRegular() {
			continue
		}
		if content, err := regular.ReadFile(file); err == nil && isOurs(entry.Name(), content) {
			r.result.Stale = append(r.result.Stale, file)
		}
	}
}
