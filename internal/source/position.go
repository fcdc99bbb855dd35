package source

import (
	"go/token"
	"path/filepath"
	"strings"
)

// positions turns places in the loaded files into positions for readers.
type positions struct {
	fset *token.FileSet
	// dir is what file names are relative to.
	dir string
	// written holds the files that are as the user wrote them: in those,
	// //line comments do not count. Files that the go command derived, as it
	// does for cgo, lead back to the user's by such comments.
	written map[string]bool
}

// at is the position of pos, with a relative file name in slash form as go vet
// prints it, or an absolute one for files above the directory.
func (p positions) at(pos token.Pos) token.Position {
	if !pos.IsValid() {
		return token.Position{}
	}
	position := p.fset.PositionFor(pos, false)
	if !p.written[position.Filename] {
		position = p.fset.PositionFor(pos, true)
	}
	position.Filename = p.name(position.Filename)
	return position
}

// name is a file's name for readers.
func (p positions) name(file string) string {
	relative, err := filepath.Rel(p.dir, file)
	if err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator)) {
		file = relative
	}
	return filepath.ToSlash(file)
}
