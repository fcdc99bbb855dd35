package starter

import (
	"fmt"
	"go/token"
	"go/types"
	"path"
	"strings"
)

// packageName is the name of a package for its import path: the last element,
// in lower case and without what an identifier cannot hold. A last element
// such as v2 is a version, not a name.
func packageName(importPath string) (string, error) {
	base := path.Base(importPath)
	if rest, ok := strings.CutPrefix(base, "v"); ok && rest != "" && strings.Trim(rest, "0123456789") == "" {
		base = path.Base(path.Dir(importPath))
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(base))
	switch {
	case !token.IsIdentifier(name):
		return "", fmt.Errorf("folder %q gives no name for a Go package: name another, such as payments", base)
	case taken[name] || types.Universe.Lookup(name) != nil:
		return "", fmt.Errorf("folder %q would give the package the name %s, which the starter needs for something else: name another, such as payments", base, name)
	}
	return name, nil
}

// taken are the names that the files of the starter use beside the package's.
var taken = func() map[string]bool {
	all := map[string]bool{}
	for _, name := range strings.Fields(`main service ledger runtime sqlledger context sql errors flag fmt log net http os
		signal strings time run account authorize operation addr file db ctx stop err keys guarded listener server failed cancel r name ok p in tx`) {
		all[name] = true
	}
	return all
}()
