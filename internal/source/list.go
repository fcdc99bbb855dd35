package source

import (
	"errors"
	"fmt"
	"go/build"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/idemgen/idemgen/internal/regular"
)

// listing is what the patterns of a run match.
type listing struct {
	// queries ask package packages for what the run is about.
	queries []string
	// folders are those of the packages, as the go command names them.
	folders []string
	// passed counts packages of other modules that a wildcard took in.
	passed int
}

// list asks the go command what the patterns match, since only it knows: they
// may be import paths of another module of a workspace, and the working folder
// may be a symbolic link. That takes a fraction of the time of loading.
func (l *loader) list() (*listing, error) {
	roots, err := l.ask(packages.NeedName|packages.NeedFiles|packages.NeedModule, nil, patternQueries(l.patterns))
	if err != nil {
		return nil, err
	}
	if len(roots) == 0 {
		return nil, l.noMatch()
	}
	found := &listing{queries: patternQueries(l.patterns)}
	var kept []string
	for _, root := range roots {
		dir := rootFolder(root)
		if isWildcard(root.ID) && len(root.Errors) > 0 {
			// It stands for the whole pattern, and asking again would load
			// whatever the pattern matches.
			return nil, rootError(root)
		}
		if !l.named(root, dir) && l.passOver(root, dir, found) {
			continue
		}
		if err := readable(root, l.env.overlay); err != nil {
			return nil, err
		}
		kept = append(kept, root.ID)
		if dir != "" {
			found.folders = append(found.folders, dir)
		}
	}
	if len(kept) < len(roots) {
		found.queries = patternQueries(kept)
	}
	return found, nil
}

// patternQueries makes queries of patterns and of packages' identities.
func patternQueries(patterns []string) []string {
	var queries []string
	for _, pattern := range patterns {
		queries = append(queries, "pattern="+pattern)
	}
	return queries
}

// rootFolder is the folder of a package, or "". Drivers other than the go
// command, as of Bazel, do not name it.
func rootFolder(root *packages.Package) string {
	if root.Dir == "" && len(root.GoFiles) > 0 {
		return filepath.Dir(root.GoFiles[0])
	}
	return root.Dir
}

// named reports whether a pattern without a wildcard names a package.
func (l *loader) named(root *packages.Package, dir string) bool {
	return slices.ContainsFunc(l.patterns, func(pattern string) bool {
		switch {
		case isWildcard(pattern):
			return false
		case filepath.IsAbs(pattern):
			return filepath.Clean(pattern) == dir
		case build.IsLocalImport(filepath.ToSlash(pattern)):
			return filepath.Join(l.dir, filepath.FromSlash(pattern)) == dir
		default:
			// Who does not use the go command names packages in his own way.
			return pattern == root.PkgPath || pattern == root.ID || dir == ""
		}
	})
}

// isWildcard reports whether a pattern matches packages that it does not name.
func isWildcard(pattern string) bool {
	return strings.Contains(pattern, "...") || slices.Contains([]string{"all", "std", "cmd", "tool", "work"}, pattern)
}

// passOver reports whether a package that a wildcard took in is not ours to
// read: one of another module, one of the standard library, and one that has
// nothing but tests.
func (l *loader) passOver(root *packages.Package, dir string, found *listing) bool {
	switch {
	case root.Module != nil && !root.Module.Main:
		found.passed++
		return true
	case root.Module == nil && dir != "" && isBelow(dir, l.env.goroot):
		return true
	default:
		return len(root.GoFiles) == 0 && len(root.Errors) == 0 && !isOutputFile(filepath.Join(dir, OutputFile))
	}
}

// readable says which file of a package is none that can be read to its end,
// before somebody tries.
func readable(root *packages.Package, overlay map[string][]byte) error {
	for _, file := range slices.Concat(root.GoFiles, root.IgnoredFiles) {
		if _, replaced := overlay[file]; replaced {
			continue
		}
		if info, err := os.Stat(file); err == nil {
			if err := regular.Check(file, info); err != nil {
				return err
			}
		}
	}
	return nil
}

// isBelow reports whether a folder lies below another one.
func isBelow(dir, root string) bool {
	relative, err := filepath.Rel(root, dir)
	return root != "" && err == nil && filepath.IsLocal(relative)
}

// noMatch is the error when the patterns match nothing. Package packages keeps
// to itself what the go command said about it.
func (l *loader) noMatch() error {
	text := "no packages match " + strings.Join(l.patterns, " ")
	if _, module := ModuleAround(l.dir); module == "" {
		return errors.New(text + ": there is no go.mod in this folder or above it")
	}
	args := append(append([]string{"list"}, l.flags...), "--")
	if _, err := l.env.output(l.ctx, l.dir, append(args, l.patterns...)...); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	return errors.New(text)
}
