package spec

import (
	"fmt"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// responseLimits are the largest answers that the engines' rows hold, by
// engine. MySQL's is what fits a packet of its default size beside the other
// columns; the others keep clear of the 1 GB limit of a value.
var responseLimits = map[string]int64{
	"sqlite":   512 << 20,
	"postgres": 512 << 20,
	"mysql":    8 << 20,
}

// resolveLedger reads the ledger of an interface; nil without the directive, and
// when the directive breaks rules.
func resolveLedger(d *Draft, a *arguments) (*Ledger, Problems) {
	pos, given := a.at["ledger"]
	if !given || a.broken["ledger"] {
		return nil, nil
	}
	var problems Problems
	report := func(pos token.Position, code Code, format string, args ...any) {
		problems = append(problems, Problem{Pos: pos, Code: code, Message: "idem:ledger: " + fmt.Sprintf(format, args...)})
	}
	ledger := &Ledger{Pos: pos, Engines: []string{"sqlite"}, Driver: "sql", Dir: "ledger", Table: "idempotency_keys"}
	if engine := a.Ledger.Engine; engine.given() {
		ledger.Engines = nil
		for _, item := range engine.V {
			if slices.Contains(ledger.Engines, item.Text) {
				report(item.Pos, CodeRepeated, "engine %q is listed twice", item.Text)
				continue
			}
			ledger.Engines = append(ledger.Engines, item.Text)
		}
	}
	if driver := a.Ledger.Driver; driver.given() {
		ledger.Driver = driver.V
		if driver.V == "pgx" && !a.isBroken("ledger.Engine") && !slices.Equal(ledger.Engines, []string{"postgres"}) {
			report(driver.Pos, CodeLedger, "driver=pgx is for engine=postgres alone: use driver=sql")
		}
	}
	if dir := a.Ledger.Dir; dir.given() && !a.isBroken("ledger.Dir") {
		ledger.Dir = path.Clean(dir.V)
		if reason := checkDir(d, dir.V); reason != "" {
			report(dir.Pos, CodeLedger, "folder %q %s", dir.V, reason)
		}
	}
	if table := a.Ledger.Table; table.given() && !a.isBroken("ledger.Table") {
		ledger.Table = table.V
		if err := CheckTable(table.V, ledger.Engines...); err != nil {
			report(table.Pos, CodeLedger, "%s", err)
		}
	}
	partly := a.isBroken("ledger.Engine") || a.isBroken("ledger.Driver") || a.isBroken("ledger.Dir") || a.isBroken("ledger.Table")
	if len(problems) > 0 || partly {
		return nil, problems
	}
	return ledger, nil
}

// checkDir says what is wrong with a ledger's folder, or "". The folder's name
// becomes the name of the Go package in it.
func checkDir(d *Draft, dir string) string {
	if strings.Contains(dir, `\`) || path.IsAbs(dir) || filepath.VolumeName(dir) != "" {
		return "is not a relative path with slashes"
	}
	dir = path.Clean(dir)
	for element := range strings.SplitSeq(dir, "/") {
		switch {
		case element == ".." || element == ".":
			continue
		case strings.HasPrefix(element, "_"), strings.HasPrefix(element, "."), element == "testdata":
			return fmt.Sprintf("is invisible to the go command, because of its element %q", element)
		case element == "vendor":
			return "lies in a vendor folder"
		case windowsForm.MatchString(element):
			return fmt.Sprintf("cannot be imported: its element %q is a device or a short name on Windows, which the go command refuses everywhere", element)
		case !isImportElement(element):
			return fmt.Sprintf("cannot be imported: its element %q has other than letters, digits, and - . _ ~", element)
		}
	}
	name := path.Base(dir)
	switch {
	case name == "." || name == "..":
		return "is the folder of a package of yours: the ledger is a package of its own, such as ledger"
	case !token.IsIdentifier(name) || strings.ToLower(name) != name:
		return fmt.Sprintf("does not end in a name for its Go package: %q is not a lower-case identifier", name)
	case name == "main":
		return "gives its Go package the name main, which cannot be imported"
	}
	target := filepath.Join(d.Package.Dir, filepath.FromSlash(dir))
	if d.Module != "" {
		if inside, err := filepath.Rel(d.Module, target); err != nil || !filepath.IsLocal(inside) {
			return "lies outside the module"
		}
	}
	return ""
}

// isImportElement reports whether s may be an element of an import path.
func isImportElement(s string) bool {
	for i := range len(s) {
		c := s[i]
		alphanumeric := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alphanumeric && strings.IndexByte("-._~", c) < 0 {
			return false
		}
	}
	return s != "" && !strings.HasSuffix(s, ".")
}

// windowsForm is a name that Windows keeps for a device, or makes up for a longer
// name, also with an extension, and in capitals.
var windowsForm = regexp.MustCompile(`^(?i:con|prn|aux|nul|com[1-9]|lpt[1-9]|[^.]*~[0-9]+)(\..*)?$`)

// ledgerUse is a ledger with the interface that asks for it.
type ledgerUse struct {
	folder string // absolute
	owner  string // name of the interface
	ledger *Ledger
}

// sharedLedgers reports interfaces that want different ledgers in one folder,
// or one ledger inside the folder of another's engine.
func sharedLedgers(uses []ledgerUse) Problems {
	var problems Problems
	for i, later := range uses {
		for _, earlier := range uses[:i] {
			if later.folder != earlier.folder {
				continue
			}
			a, b := later.ledger, earlier.ledger
			if slices.Equal(a.Engines, b.Engines) && a.Driver == b.Driver && a.Table == b.Table {
				continue
			}
			problems = append(problems, Problem{
				Pos: a.Pos, Code: CodeShared,
				Message: fmt.Sprintf("idem:ledger: %s and %s put different ledgers into folder %q: engine, driver and table must be the same", earlier.owner, later.owner, a.Dir),
				Other:   &Other{b.Pos, "the ledger of " + earlier.owner + " is"},
			})
			break
		}
	}
	return problems
}
