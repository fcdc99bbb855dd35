package templates

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// importedPackage is a package that generated code calls itself.
type importedPackage struct{ path, name string }

var (
	contextPackage = importedPackage{"context", "context"}
	errorsPackage  = importedPackage{"errors", "errors"}
	httpPackage    = importedPackage{"net/http", "http"}
	sqlPackage     = importedPackage{"database/sql", "sql"}
	pgxPackage     = importedPackage{"github.com/jackc/pgx/v5", "pgx"}
	timePackage    = importedPackage{"time", "time"}
	runtimePackage = importedPackage{"github.com/idemgen/idemgen/runtime", "runtime"}
)

// ownImports come before the user's when two packages want one name, so that
// the code reads the same in every package.
var ownImports = []string{contextPackage.path, errorsPackage.path, httpPackage.path, timePackage.path, runtimePackage.path}

// imports is the table of the packages that a file uses. Which name a package
// gets depends on the set of packages alone, never on the order of their use.
type imports struct {
	scope *types.Scope      // of the package that the file belongs to
	names map[string]string // path to the package's own name
}

func newImports(pkg *types.Package) *imports {
	return &imports{scope: pkg.Scope(), names: map[string]string{}}
}

func (i *imports) use(path, name string) { i.names[path] = name }

// allot gives every package a name that no other import, no declaration of the
// package and nothing of blocked has.
func (i *imports) allot(blocked func(string) bool) map[string]string {
	allotted := map[string]string{}
	used := map[string]bool{}
	for _, path := range i.order() {
		for name := range importNames(path, i.names[path]) {
			if used[name] || i.scope.Lookup(name) != nil || blocked(name) || !usable(name) {
				continue
			}
			used[name] = true
			allotted[path] = name
			break
		}
	}
	return allotted
}

// order is the order in which packages choose their names.
func (i *imports) order() []string {
	var order []string
	for _, path := range ownImports {
		if _, used := i.names[path]; used {
			order = append(order, path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(i.names)) {
		if !slices.Contains(ownImports, path) {
			order = append(order, path)
		}
	}
	return order
}

// importNames yields names for a package, best first: its own, its own behind
// more and more of its path, its own with a number.
func importNames(importPath, name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if !yield(name) {
			return
		}
		parents := parentElements(importPath, name)
		if len(parents) == 0 {
			parents = []string{"std"}
		}
		longer := name
		for _, parent := range slices.Backward(parents) {
			longer = parent + longer
			if !yield(longer) {
				return
			}
		}
		for n := 2; ; n++ {
			if !yield(name + strconv.Itoa(n)) {
				return
			}
		}
	}
}

// parentElements are the elements of an import path before the one that names
// the package, as parts of an identifier.
func parentElements(importPath, name string) []string {
	elements := strings.Split(importPath, "/")
	if last := elements[len(elements)-1]; len(elements) > 1 && isMajorVersion(last) && last != name {
		elements = elements[:len(elements)-1]
	}
	var parents []string
	for _, element := range elements[:len(elements)-1] {
		letters := strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
				return r
			case r >= 'A' && r <= 'Z':
				return r + 'a' - 'A'
			default:
				return -1
			}
		}, element)
		if letters = strings.TrimLeft(letters, "0123456789"); letters != "" {
			parents = append(parents, letters)
		}
	}
	return parents
}

// isMajorVersion reports whether a path element is a module's version, v2.
func isMajorVersion(element string) bool {
	digits, found := strings.CutPrefix(element, "v")
	_, err := strconv.ParseUint(digits, 10, 32)
	return found && err == nil
}

// group replaces the import declaration of a source by one with the standard
// library first, in which a package has an alias only where its name is not
// what its path says.
func (i *imports) group(source []byte, allotted map[string]string) ([]byte, error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, FileName, source, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	if len(parsed.Decls) != 1 {
		return nil, fmt.Errorf("%d import declarations stand in the generated code, not one", len(parsed.Decls))
	}
	var standard, others []string
	for _, spec := range parsed.Imports {
		importPath, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		name, known := allotted[importPath]
		if !known || spec.Name == nil || spec.Name.Name != name {
			return nil, fmt.Errorf("package %q was imported under a name that was not allotted", importPath)
		}
		line := strconv.Quote(importPath)
		if name != i.names[importPath] || name != nameInPath(importPath) {
			line = name + " " + line
		}
		if isStandard(importPath) {
			standard = append(standard, importPath+"\x00"+line)
		} else {
			others = append(others, importPath+"\x00"+line)
		}
	}
	var block bytes.Buffer
	block.WriteString("import (\n")
	for n, group := range [][]string{standard, others} {
		if n > 0 && len(standard) > 0 && len(others) > 0 {
			block.WriteByte('\n')
		}
		slices.Sort(group)
		for _, entry := range group {
			_, line, _ := strings.Cut(entry, "\x00")
			block.WriteString("\t" + line + "\n")
		}
	}
	block.WriteByte(')')
	file := fset.File(parsed.Pos())
	start, end := file.Offset(parsed.Decls[0].Pos()), file.Offset(parsed.Decls[0].End())
	return slices.Concat(source[:start], block.Bytes(), source[end:]), nil
}

// nameInPath is the package name that a reader takes from an import path.
func nameInPath(importPath string) string {
	if base := path.Base(importPath); isMajorVersion(base) {
		return path.Base(path.Dir(importPath))
	}
	return path.Base(importPath)
}

// isStandard reports whether a path is one of the standard library, by the
// rule that goimports uses: its first element has no dot.
func isStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}
