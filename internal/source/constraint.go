package source

import (
	"go/ast"
	"go/build"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"strings"
)

// constraint is the build constraint of the file that pos lies in, as the text
// of a //go:build line: what its name says, and what its own line says. For a
// file that the go command derived both are those of the user's file.
func (r *reader) constraint(pos token.Pos) string {
	for _, file := range r.files {
		if pos < file.FileStart || file.FileEnd <= pos {
			continue
		}
		name := r.fileName(file)
		if !r.at.written[name] {
			name = r.pkg.Fset.PositionFor(pos, true).Filename
			original, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				return "" // the compiler has just read it
			}
			file = original
		}
		return joinConstraints(nameConstraint(filepath.Base(name)), lineConstraint(file))
	}
	return ""
}

// joinConstraints is the constraint that holds when both do.
func joinConstraints(name, line string) string {
	switch {
	case name == "":
		return line
	case line == "":
		return name
	}
	if expr, err := constraint.Parse("//go:build " + line); err == nil {
		if _, or := expr.(*constraint.OrExpr); or {
			line = "(" + line + ")"
		}
	}
	return name + " && " + line
}

// lineConstraint is the //go:build line of a file in its normal form, or "".
func lineConstraint(file *ast.File) string {
	for _, group := range file.Comments {
		if group.Pos() > file.Package {
			break
		}
		for _, comment := range group.List {
			if !constraint.IsGoBuild(comment.Text) {
				continue
			}
			if expr, err := constraint.Parse(comment.Text); err == nil {
				return expr.String()
			}
		}
	}
	return ""
}

// nameConstraint is the constraint in a file's name, such as linux && arm64 for
// x_linux_arm64.go, or "". Package go/build knows which words count.
func nameConstraint(file string) string {
	const none = "none" // no operating system and no architecture
	parts := strings.Split(strings.TrimSuffix(file, ".go"), "_")
	matches := func(system, architecture string) bool {
		context := build.Context{
			Compiler: build.Default.Compiler, GOOS: system, GOARCH: architecture,
			OpenFile: func(string) (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader("package p\n")), nil
			},
		}
		match, err := context.MatchFile("", file)
		return err == nil && match
	}
	if matches(none, none) {
		return ""
	}
	last := parts[len(parts)-1]
	if matches(last, none) || matches(none, last) || len(parts) < 2 {
		return last
	}
	before := parts[len(parts)-2]
	return before + " && " + last
}
