// Package generate turns annotated packages into files. [Generate] says what
// should stand on disk and changes nothing; writing, checking and tests all
// work from its [Result].
package generate

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"

	"github.com/idemgen/idemgen/internal/source"
	"github.com/idemgen/idemgen/internal/spec"
	"github.com/idemgen/idemgen/templates"
)

// Config says how packages are loaded and generated. Its zero value loads from
// the current directory with the environment of this process.
type Config struct {
	source.Config
	// Accept takes changes that make retries in flight run again.
	Accept bool
}

// Result is what a run wants to stand on disk. Paths are absolute.
type Result struct {
	// Files are the generated files.
	Files map[string][]byte
	// Stale are files of idemgen's own that nothing asks for any more, sorted.
	Stale []string
	// Notes are for readers: what could not be checked.
	Notes []string

	dir string // what readers take names to be relative to
}

// Name is a file's name for readers, as positions have it: relative to the
// working directory and in slash form, or absolute for files above it.
func (r *Result) Name(file string) string {
	relative, err := filepath.Rel(r.dir, file)
	if err == nil && filepath.IsLocal(relative) {
		file = relative
	}
	return filepath.ToSlash(file)
}

// Generate generates the packages that match the patterns (none means ".").
// It reads, but changes nothing.
//
// The error is spec.Problems when the sources break rules, or when something
// that is not idemgen's own stands where output belongs. It holds the problems
// of all packages; there is no result for some of them.
func Generate(ctx context.Context, cfg Config, patterns ...string) (*Result, error) {
	packages, err := source.Load(ctx, cfg.Config, patterns...)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, err
	}
	r := &run{result: &Result{Files: map[string][]byte{}, dir: dir}, ledgers: map[string]*ledger{}}
	for _, p := range packages {
		r.ledgersOf(p)
	}
	for _, p := range packages {
		if err := r.generate(p); err != nil {
			return nil, err
		}
		if !cfg.Accept {
			r.acceptable(p)
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(r.ledgers)) {
		if err := r.emit(r.ledgers[folder]); err != nil {
			return nil, err
		}
	}
	if len(r.problems) > 0 {
		return nil, r.problems.Sorted()
	}
	r.stale(packages)
	return r.result, nil
}

// run is one generation.
type run struct {
	result   *Result
	problems spec.Problems
	ledgers  map[string]*ledger // by folder, absolute
}

func (r *run) report(p spec.Problem) { r.problems = append(r.problems, p) }

// generate renders the file of a package.
func (r *run) generate(p *spec.Package) error {
	if len(p.APIs) == 0 {
		return nil
	}
	content, err := templates.Render(p, ledgerFolders(p))
	var problems spec.Problems
	if errors.As(err, &problems) {
		r.problems = append(r.problems, problems...)
		return nil
	}
	if err != nil {
		return err
	}
	target := filepath.Join(p.Dir, templates.FileName)
	if reason := r.result.refuseFile(target, ours); reason != "" {
		r.report(spec.Problem{Pos: p.APIs[0].Pos, Code: spec.CodeForeign, Message: p.APIs[0].Name + ": " + reason})
		return nil
	}
	r.result.Files[target] = content
	return nil
}
