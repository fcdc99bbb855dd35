package generate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/internal/regular"
)

// Difference is a file that does not stand on disk as a result wants it.
type Difference struct {
	Path string // absolute
	Kind Kind
	Old  []byte // as it stands; nil when missing
	New  []byte // as it should stand; nil when stale
}

// Kind says how a file differs.
type Kind string

const (
	Missing Kind = "missing"
	Changed Kind = "changed"
	Stale   Kind = "stale"
)

// Compare returns what differs on disk from the result, in order of path. Line
// ends do not count: git may have checked the files out with CRLF.
func (r *Result) Compare() ([]Difference, error) {
	var differences []Difference
	for _, file := range slices.Sorted(maps.Keys(r.Files)) {
		wanted := r.Files[file]
		old, err := regular.ReadFile(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			differences = append(differences, Difference{Path: file, Kind: Missing, New: wanted})
		case err != nil:
			return nil, fmt.Errorf("%s cannot be read: %s", r.Name(file), reasonOf(err))
		case !bytes.Equal(withoutCR(old), wanted):
			differences = append(differences, Difference{Path: file, Kind: Changed, Old: withoutCR(old), New: wanted})
		}
	}
	for _, file := range r.Stale {
		old, err := regular.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read: %s", r.Name(file), reasonOf(err))
		}
		differences = append(differences, Difference{Path: file, Kind: Stale, Old: withoutCR(old)})
	}
	slices.SortFunc(differences, func(a, b Difference) int { return strings.Compare(a.Path, b.Path) })
	return differences, nil
}

func withoutCR(content []byte) []byte {
	return bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
}
