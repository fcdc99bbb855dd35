// Package generate turns annotated packages into files. [Generate] says what
// should stand on disk and changes nothing; writing, checking and tests all
// work from its [Result].
package generate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

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

	// Waits is told when Write waits for another run, and for which; nil tells
	// nobody.
	Waits func(text string)

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
	dir, err := source.WorkingDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	r := &run{result: &Result{Files: map[string][]byte{}, dir: dir}, ledgers: map[string]*ledger{}}
	for _, p := range packages {
		r.ledgersOf(p)
	}
	for i, output := range renderAll(packages) {
		p := packages[i]
		if err := r.take(p, output); err != nil {
			return nil, err
		}
		if !cfg.Accept {
			r.acceptable(p)
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(r.ledgers)) {
		if !cfg.Accept {
			r.compareLedger(r.ledgers[folder])
		}
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

// rendered is the file of a package, or why there is none.
type rendered struct {
	content []byte
	err     error
}

// renderAll renders the files of all packages, several at a time: formatting
// them takes longer than all else that is not the go command's.
func renderAll(packages []*spec.Package) []rendered {
	outputs := make([]rendered, len(packages))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var group sync.WaitGroup
	for i, p := range packages {
		if len(p.APIs) == 0 {
			continue
		}
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			outputs[i] = render(p)
		})
	}
	group.Wait()
	return outputs
}

// render renders the file of one package. A bug in it is an error, since a panic
// here would end the program before it could say what to do about it.
func render(p *spec.Package) (output rendered) {
	defer func() {
		if reason := recover(); reason != nil {
			output = rendered{err: fmt.Errorf("internal error, please report it: package %s: %v\n%s", p.Path, reason, debug.Stack())}
		}
	}()
	content, err := templates.Render(p, ledgerFolders(p))
	return rendered{content, err}
}

// take adds the file of a package to the result.
func (r *run) take(p *spec.Package, output rendered) error {
	if len(p.APIs) == 0 {
		return nil
	}
	content, err := output.content, output.err
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
