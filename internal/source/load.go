// Package source reads annotated interfaces from Go packages: it loads and
// type-checks them once, collects their directives, and hands both to package
// spec, which knows the rules.
package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"

	"github.com/idemgen/idemgen/internal/spec"
)

// Config says how packages are loaded. Its zero value loads from the current
// directory with the environment of this process.
type Config struct {
	// Dir is the working directory: patterns and reported positions are
	// relative to it. Empty means the process's own.
	Dir string
	// Tags are the build tags, separated by commas.
	Tags string
	// Env is the environment of the go command; nil means the process's own.
	Env []string
}

// Load loads the packages that match the patterns (none means ".") and returns
// those that have annotated interfaces, and those without that still have
// output of ours, in order of import path. Files of tests are not read.
//
// The error is spec.Problems when the sources break rules, and holds all
// broken rules of all packages. Any other error means that nothing could be
// loaded, or that no package has anything for idemgen.
func Load(ctx context.Context, cfg Config, patterns ...string) ([]*spec.Package, error) {
	packages, problems, err := load(ctx, cfg, patterns)
	switch {
	case err != nil:
		return nil, err
	case len(problems) > 0:
		return nil, problems
	default:
		return packages, nil
	}
}

// load is Load, with the packages beside their problems.
func load(ctx context.Context, cfg Config, patterns []string) ([]*spec.Package, spec.Problems, error) {
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, nil, err
	}
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	for _, pattern := range patterns {
		if strings.HasSuffix(pattern, ".go") {
			return nil, nil, fmt.Errorf("%s is a file: name its package, such as ./%s, since a file alone does not show its neighbours", pattern, filepath.ToSlash(filepath.Dir(pattern)))
		}
	}
	l := &loader{ctx: ctx, cfg: cfg, dir: dir, patterns: patterns, masks: masks(dir, patterns, cfg.Tags)}
	if len(l.masks) > 0 {
		flag, remove, err := overlayFlag(l.masks)
		if err != nil {
			return nil, nil, err
		}
		defer remove()
		l.flags = append(l.flags, flag)
	}
	if cfg.Tags != "" {
		l.flags = append(l.flags, "-tags="+cfg.Tags)
	}
	// Export data is ten times faster than the sources of all dependencies.
	// It is missing where a dependency does not compile, and unreadable where
	// the go command is newer than this program; types then do not resolve,
	// and the sources decide.
	result, err := l.run(0)
	if err == nil && result.unresolved {
		result, err = l.run(packages.NeedDeps)
	}
	if err != nil {
		return nil, nil, err
	}
	slices.SortFunc(result.packages, func(a, b *spec.Package) int { return cmp.Compare(a.Path, b.Path) })
	if len(result.packages) == 0 && len(result.problems) == 0 {
		return nil, nil, l.nothing(result)
	}
	return result.packages, result.problems.Sorted(), nil
}

// loader loads the packages of one run.
type loader struct {
	ctx      context.Context
	cfg      Config
	dir      string // absolute
	patterns []string
	masks    map[string]mask // of previous output
	flags    []string        // of the go command
}

// result is what one loading gave.
type result struct {
	packages []*spec.Package
	problems spec.Problems
	// unresolved says that a type did not resolve, for a reason that lies
	// outside the package.
	unresolved bool
	// excluded are files with directives that the build leaves out.
	excluded []string
}

// mode is what every loading needs of a package.
const mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
	packages.NeedTypes | packages.NeedTypesInfo | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedModule

// run loads once.
func (l *loader) run(more packages.LoadMode) (*result, error) {
	parsed := &parsedFiles{content: map[string][]byte{}, errors: map[string]scanner.ErrorList{}, masks: l.masks}
	config := &packages.Config{
		Context: l.ctx, Mode: mode | more, Dir: l.dir, Env: l.cfg.Env, BuildFlags: l.flags,
		Fset: token.NewFileSet(), ParseFile: parsed.parse,
	}
	var queries []string
	for _, pattern := range l.patterns {
		queries = append(queries, "pattern="+pattern)
	}
	roots, err := packages.Load(config, queries...)
	if err != nil {
		return nil, fmt.Errorf("loading packages: %w", err)
	}
	if len(roots) == 0 {
		text := "no packages match " + strings.Join(l.patterns, " ")
		if _, module := ModuleAround(l.dir); module == "" {
			text += ": there is no go.mod in this folder or above it"
		}
		return nil, errors.New(text)
	}
	found := &result{}
	var drafts []*spec.Draft
	var trouble []error
	for _, root := range roots {
		if root.Dir == "" && len(root.GoFiles) > 0 {
			// Drivers other than the go command, as of Bazel, do not name it.
			root.Dir = filepath.Dir(root.GoFiles[0])
		}
		if isEmitted(root.Dir) {
			continue
		}
		if err := rootError(root); err != nil {
			trouble = append(trouble, err)
			continue
		}
		r := newReader(root, l.dir, parsed)
		draft := r.read()
		found.problems = append(found.problems, r.problems...)
		switch {
		case len(draft.Interfaces) > 0:
			drafts = append(drafts, draft)
		case r.excluded() != "":
			// Without the file nobody can say whether output is stale.
			found.excluded = append(found.excluded, r.at.name(r.excluded()))
		case isOutputFile(filepath.Join(root.Dir, OutputFile)):
			found.packages = append(found.packages, draft.Package)
		}
	}
	if len(trouble) > 0 {
		return nil, errors.Join(trouble...)
	}
	built, problems := spec.Build(drafts)
	for _, problem := range problems {
		found.unresolved = found.unresolved || problem.Code == spec.CodeUnresolved
	}
	found.packages = append(found.packages, built...)
	found.problems = append(found.problems, problems...)
	return found, nil
}

// rootError says why a matched package cannot be read at all. Errors about its
// imports and types are no reason: whether they matter shows later.
func rootError(root *packages.Package) error {
	for _, e := range root.Errors {
		mixed := strings.HasPrefix(e.Msg, "found packages ")
		if len(root.Syntax) == 0 || mixed {
			text := strings.TrimSpace(e.Msg)
			if e.Kind == packages.ListError && !strings.Contains(text, root.PkgPath) && root.PkgPath != "" {
				text = root.PkgPath + ": " + text
			}
			return errors.New(text)
		}
	}
	if len(root.Syntax) == 0 {
		return fmt.Errorf("%s: no Go files", root.PkgPath)
	}
	return nil
}

// nothing is the error of a run that found nothing to do.
func (l *loader) nothing(found *result) error {
	text := fmt.Sprintf("no annotated interface in %s: an interface is annotated with //%s:api", strings.Join(l.patterns, " "), spec.Tool)
	for _, file := range found.excluded {
		text += fmt.Sprintf("\n%s has directives, but its build constraint excludes it: name its tags with -tags", file)
	}
	return errors.New(text)
}

// parsedFiles keeps what the syntax tree does not hold: the text of the files,
// and their syntax errors with positions. It is safe for concurrent use.
type parsedFiles struct {
	mu      sync.Mutex
	content map[string][]byte
	errors  map[string]scanner.ErrorList
	masks   map[string]mask // not changed
}

// parse is a packages.Config.ParseFile.
func (p *parsedFiles) parse(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
	if m, masked := p.masks[name]; masked {
		src = m.content // not every driver knows of the overlay
	}
	file, err := parser.ParseFile(fset, name, src, parser.AllErrors|parser.ParseComments|parser.SkipObjectResolution)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.content[name] = src
	if list := (scanner.ErrorList)(nil); errors.As(err, &list) {
		p.errors[name] = list
	}
	return file, err
}

// hasDirectives reports whether a file has a line that begins like a
// directive.
func hasDirectives(file string) bool {
	content, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), "//"+spec.Tool+":") {
			return true
		}
	}
	return false
}
