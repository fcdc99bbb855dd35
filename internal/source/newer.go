package source

import "strings"

// newer ends a message about what does not parse or resolve in a package that
// was written for a newer Go than this program was built with: it may well be
// right. Without such trouble a newer package is as good as any.
func (r *reader) newer() string {
	for _, e := range r.pkg.TypeErrors {
		if strings.Contains(e.Msg, "requires newer Go version") {
			return "; " + e.Msg + ": build idemgen again with the Go of the package, as go tool and go run do"
		}
	}
	return ""
}
