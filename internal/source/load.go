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
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"

	"github.com/idemgen/idemgen/internal/regular"
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

// WorkingDir is the folder that a run works in: absolute, and as it was named,
// since a module may have links in it. Only where a link leads into a module
// from outside does it name what the link leads to: the go command looks for
// go.mod along the name.
func WorkingDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if _, around := ModuleAround(dir); around == "" {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			if _, around := ModuleAround(real); around != "" {
				return real, nil
			}
		}
	}
	return dir, nil
}

// load is Load, with the packages beside their problems.
func load(ctx context.Context, cfg Config, patterns []string) ([]*spec.Package, spec.Problems, error) {
	dir, err := WorkingDir(cfg.Dir)
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
	env, err := newEnvironment(ctx, dir, cfg.Env)
	if err != nil {
		return nil, nil, err
	}
	l := &loader{ctx: ctx, cfg: cfg, dir: dir, patterns: patterns, env: env, flags: env.flags}
	if cfg.Tags != "" {
		l.flags = append(l.flags, "-tags="+cfg.Tags)
	}
	if l.listing, err = l.list(); err != nil {
		return nil, nil, err
	}
	l.masks = masks(l.listing.folders, cfg.Tags, env.overlay)
	if env.overlay == nil && len(l.masks) > 0 {
		flag, remove, err := overlayFlag(l.masks)
		if err != nil {
			return nil, nil, err
		}
		defer remove()
		l.flags = append(l.flags, flag)
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
	env      *environment
	flags    []string // of the go command
	listing  *listing
	masks    map[string]mask // of previous output
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
	if len(l.listing.queries) == 0 {
		return &result{}, nil
	}
	parsed := &parsedFiles{content: map[string][]byte{}, errors: map[string]scanner.ErrorList{}, masks: l.masks}
	roots, err := l.ask(mode|more, parsed, l.listing.queries)
	if err != nil {
		return nil, err
	}
	found := &result{}
	var drafts []*spec.Draft
	var trouble []error
	for _, root := range roots {
		root.Dir = rootFolder(root)
		if isEmitted(root.Dir) {
			continue
		}
		if err := rootError(root); err != nil {
			trouble = append(trouble, err)
			continue
		}
		r := newReader(root, l.dir, parsed)
		draft, excluded := r.read(), r.excluded()
		found.problems = append(found.problems, r.problems...)
		switch {
		case len(draft.Interfaces) > 0 && !isOwn(root.Module):
			trouble = append(trouble, fmt.Errorf("%s is a package of module %s, which is not the one that is worked on: idemgen writes into packages of the main module, of a workspace, and of modules that replace others by a folder", root.PkgPath, root.Module.Path))
		case len(draft.Interfaces) > 0:
			drafts = append(drafts, draft)
		case excluded.IsValid():
			// Without the file nobody can say whether output is stale.
			found.excluded = append(found.excluded, excluded.Filename)
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

// ask asks package packages, and with it the go command or whoever stands in for
// it. The files are those of parsed, if the mode needs any.
func (l *loader) ask(mode packages.LoadMode, parsed *parsedFiles, queries []string) ([]*packages.Package, error) {
	config := &packages.Config{
		Context: l.ctx, Mode: mode, Dir: l.dir, Env: l.env.env, BuildFlags: l.flags, Fset: token.NewFileSet(),
	}
	if parsed != nil {
		config.ParseFile = parsed.parse
	}
	if l.env.overlay != nil {
		config.Overlay = mergedOverlay(l.env.overlay, l.masks)
	}
	roots, err := packages.Load(config, queries...)
	if err != nil {
		return nil, fmt.Errorf("loading packages: %w", err)
	}
	return roots, nil
}

// isOwn reports whether idemgen may write into the packages of a module: one
// that lies in a folder of the user's own, not among those that the go command
// has fetched.
func isOwn(module *packages.Module) bool {
	return module == nil || module.Main || module.Replace != nil && module.Replace.Version == ""
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
		return fmt.Errorf("%s: no Go files but those of tests", root.PkgPath)
	}
	return nil
}

// nothing is the error of a run that found nothing to do.
func (l *loader) nothing(found *result) error {
	text := fmt.Sprintf("no annotated interface in %s: an interface is annotated with //%s:api", strings.Join(l.patterns, " "), spec.Tool)
	if l.listing.passed > 0 {
		text += fmt.Sprintf("\npackages of other modules were passed over: %d", l.listing.passed)
	}
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

// firstDirective is the place of the first line in a file of a package that
// begins like a directive. It is not valid when there is none.
func firstDirective(file, packageName string) token.Position {
	content, err := regular.ReadFile(file)
	if err != nil {
		return token.Position{}
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, content, parser.PackageClauseOnly)
	if err == nil && packageName != "" && parsed.Name.Name != packageName {
		return token.Position{}
	}
	n := 0
	for line := range strings.Lines(string(content)) {
		n++
		if text := strings.TrimLeft(line, " \t"); strings.HasPrefix(text, "//"+spec.Tool+":") {
			return token.Position{Filename: file, Line: n, Column: 1 + len(line) - len(text)}
		}
	}
	return token.Position{}
}
