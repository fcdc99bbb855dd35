package generate

import (
	"bytes"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/internal/regular"
	"github.com/idemgen/idemgen/internal/source"
	"github.com/idemgen/idemgen/internal/spec"
	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/templates"
)

// acceptable compares a package with its generated file that stands and reports
// what would make retries in flight run again, or be refused as if nothing had
// run: all that decides where a key's row is found. Every other change is safe:
// a row carries what it was made under.
func (r *run) acceptable(p *spec.Package) {
	name := filepath.Join(p.Dir, templates.FileName)
	s, err := r.standing(p, name)
	if s == nil || err != nil {
		if err != nil {
			r.result.Notes = append(r.result.Notes, fmt.Sprintf(
				"%s: it does not parse, so nobody can say whether ledgers, scopes, key headers and operation names are still those that it was written with", r.result.Name(name)))
		}
		return
	}
	for _, api := range p.APIs {
		for _, e := range api.Endpoints {
			if old := oldestRelative(s.endpoints, api, e); old != nil {
				r.compareIdentity(s, api, e, old)
				r.compareRows(s, api, old)
			}
		}
	}
}

// standing is what was generated for a package before.
type standing struct {
	endpoints []standingEndpoint
	rows      map[string]standingRows
	note      string // says of a position where it is
	older     bool   // it names ledgers, and does not say whose rows are in them
}

// standing reads what was generated for a package before: from the file that
// stands, or, where somebody has deleted it, from git. It is nil when there is
// nothing to compare with. A file that does not parse is an error.
func (r *run) standing(p *spec.Package, name string) (*standing, error) {
	s := &standing{note: "the generated file has the old value"}
	content, err := regular.ReadFile(name)
	switch {
	case err == nil && (bytes.Equal(withoutCR(content), r.result.Files[name]) || len(content) > 0 && !source.IsOutput(content)):
		return nil, nil // whoever writes the file says what is wrong with it
	case err == nil && len(content) > 0:
	default:
		content, s.note = fromGit(p.Dir)
		if content == nil {
			r.deleted(p, name)
			return nil, nil
		}
	}
	s.rows = rowsOf(name, content)
	s.older = len(s.rows) == 0 && len(namedLedgers(content, p.Dir)) > 0
	s.endpoints, err = standingEndpoints(name, content)
	return s, err
}

// deleted notes that the generated file is gone although a ledger stands that
// was generated for the package: one that it asks for, or one below its folder,
// which no other package uses.
func (r *run) deleted(p *spec.Package, name string) {
	var standing []string
	for _, api := range p.APIs {
		if api.Ledger == nil {
			continue
		}
		for _, folder := range engineFolders(api.Ledger) {
			standing = append(standing, filepath.Join(p.Dir, filepath.FromSlash(folder)))
		}
	}
	// The function never fails, so neither does the walk.
	_ = filepath.WalkDir(p.Dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case entry.IsDir() && path != p.Dir && (strings.HasPrefix(entry.Name(), ".") || exists(filepath.Join(path, "go.mod"))):
			return filepath.SkipDir
		case entry.Name() == ledgerFile:
			standing = append(standing, filepath.Dir(path))
		}
		return nil
	})
	slices.Sort(standing)
	standing = slices.DeleteFunc(slices.Compact(standing), func(folder string) bool { return !isLedger(folder) })
	if len(standing) == 0 {
		return
	}
	elsewhere := map[string]bool{}
	ledgersElsewhere(moduleRoot(p.Dir), []*spec.Package{p}, elsewhere)
	for _, folder := range standing {
		if !elsewhere[folder] {
			r.note("%s: it is not there, although the ledger in %s is, and git does not know it: nobody can say whether scopes, key headers and operation names are still those of the keys in it",
				r.result.Name(name), r.result.Name(folder))
			return
		}
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// fromGit is the generated file of a folder as git has it, in its index or in
// the last commit, and where that is. Content is nil where git has none.
func fromGit(dir string) (content []byte, note string) {
	for _, place := range []struct{ object, note string }{
		{":./", "git's index has the old value"},
		{"HEAD:./", "the last commit has the old value"},
	} {
		show := exec.Command("git", "show", place.object+templates.FileName)
		show.Dir = dir
		if content, err := show.Output(); err == nil && source.IsOutput(content) {
			return content, place.note
		}
	}
	return nil, ""
}

// oldestRelative finds the endpoint of the file that stands which an endpoint
// continues: one with the same operation name, of the same method if there are
// several, since the name is what the ledger knows; otherwise that of the same
// method. It is nil for a new endpoint.
func oldestRelative(standing []standingEndpoint, api *spec.API, e *spec.Endpoint) *standingEndpoint {
	var sameMethod, sameName *standingEndpoint
	for i := range standing {
		old := &standing[i]
		method := old.api == api.Name && old.method == e.Name
		name := old.operation == e.Policy.Operation
		switch {
		case method && name:
			return old
		case method:
			sameMethod = old
		case name:
			sameName = old
		}
	}
	if sameName != nil {
		return sameName
	}
	return sameMethod
}

// compareIdentity reports when an endpoint's keys live elsewhere than before.
func (r *run) compareIdentity(s *standing, api *spec.API, e *spec.Endpoint, old *standingEndpoint) {
	const why = runsAgain
	method := api.Name + "." + e.Name
	r.compareKey(s, api, e, old)
	switch {
	case old.scope != "" && old.scope != e.Policy.Scope:
		what := method
		origin := e.Origin("Scope")
		pos := origin.Pos
		if !pos.IsValid() {
			pos = e.Pos
		}
		if origin.Source == spec.FromInterface {
			what = api.Name // said once for all its methods
		}
		r.changed(s, pos, old.scopePos, "idem:scope: the scope of %s was %s and becomes %s: %s", what, old.scope, e.Policy.Scope, why)
	case e.Policy.Scope == runtime.ScopeOperation && old.operation != e.Policy.Operation:
		r.changed(s, e.Origin("Operation").Pos, old.operationPos, "idem:endpoint: under scope operation the operation of %s was %q and becomes %q: %s (use name=%q to keep it)",
			method, old.operation, e.Policy.Operation, why, old.operation)
	}
}

const undo = "undo it, or take it with -accept once no retry is in flight"

const runsAgain = "the retry of a request that ran before would find no row and run again: " + undo

// compareKey reports when the keys of requests that ran before are not read any
// more, or not taken.
func (r *run) compareKey(s *standing, api *spec.API, e *spec.Endpoint, old *standingEndpoint) {
	p := e.Policy
	place := func(value string) (token.Position, string) {
		origin := e.Origin(value)
		switch {
		case !origin.Pos.IsValid():
			return e.Pos, api.Name + "." + e.Name
		case origin.Source == spec.FromMethod:
			return origin.Pos, api.Name + "." + e.Name
		default:
			return origin.Pos, api.Name // said once for all its methods
		}
	}
	if old.keyHeader != "" && !strings.EqualFold(old.keyHeader, p.KeyHeader) {
		pos, what := place("KeyHeader")
		effect := fmt.Sprintf("a retry that carries its key in %s would be refused as one without, although its request ran: %s", old.keyHeader, undo)
		if p.KeyOptional {
			effect = fmt.Sprintf("a retry that carries its key in %s would run again, as a request without: %s", old.keyHeader, undo)
		}
		r.changed(s, pos, old.keyHeaderPos, "idem:key: the key header of %s was %s and becomes %s: %s", what, old.keyHeader, p.KeyHeader, effect)
	}
	// The other way round every key that was taken is taken as it was.
	if old.keySyntax == runtime.KeyRaw && p.KeySyntax == runtime.KeySF {
		pos, what := place("KeySyntax")
		r.changed(s, pos, old.keySyntaxPos, "idem:key: the syntax of %s was raw and becomes sf: a retry whose key is no RFC 8941 string would be refused, although its request ran: %s", what, undo)
	}
	if old.keyMax > p.KeyMax {
		pos, what := place("KeyMax")
		r.changed(s, pos, old.keyMaxPos, "idem:key: the longest key of %s had %d bytes and gets %d: a retry with a longer one would be refused, although its request ran: %s", what, old.keyMax, p.KeyMax, undo)
	}
}

// compareRows reports when an interface's keys move to another table or leave a
// database. Another engine beside those that stand moves nothing.
func (r *run) compareRows(s *standing, api *spec.API, old *standingEndpoint) {
	was, known := s.rows[old.api]
	switch {
	case !known && (api.Ledger == nil || s.older):
	case !known:
		r.note("%s: the ledger of %s was what its constructor was given, and is generated now: nobody can say whether keys are looked for where they are", api.Ledger.Pos, api.Name)
	case api.Ledger == nil:
		r.note("%s: the ledger of %s was generated, in table %s of %s, and is now what its constructor is given: nobody can say whether keys are looked for where they are",
			api.Pos, api.Name, was.table, strings.Join(was.engines, ", "))
	case was.table != api.Ledger.Table:
		r.changed(s, api.Ledger.Pos, was.pos, "idem:ledger: the table of %s was %s and becomes %s: %s", api.Name, was.table, api.Ledger.Table, runsAgain)
	default:
		for _, engine := range was.engines {
			if !slices.Contains(api.Ledger.Engines, engine) {
				r.changed(s, api.Ledger.Pos, was.pos, "idem:ledger: the ledger of %s was on %s and becomes one on %s: %s",
					api.Name, strings.Join(was.engines, ", "), strings.Join(api.Ledger.Engines, ", "), runsAgain)
				return
			}
		}
	}
}

// ledgerDoc is what the file of a ledger says of its table and its engine.
var ledgerDoc = regexp.MustCompile(`ledger of idempotency keys in table\s+(\S+)\s+of an?\s+(SQLite|PostgreSQL|MySQL)`)

// compareLedger reports when a ledger that stands becomes one of another table
// or engine. This holds also where the generated file of its package is gone,
// or where another package uses it.
func (r *run) compareLedger(l *ledger) {
	name := filepath.Join(l.folder, ledgerFile)
	content, err := regular.ReadFile(name)
	if err != nil || !source.IsOutput(content) {
		return
	}
	text := strings.ReplaceAll(string(content), "\n//", "\n")
	found := ledgerDoc.FindStringSubmatch(text)
	if found == nil {
		return
	}
	table, engine := found[1], map[string]string{"SQLite": "sqlite", "PostgreSQL": "postgres", "MySQL": "mysql"}[found[2]]
	told := slices.ContainsFunc(r.problems, func(p spec.Problem) bool { return p.Code == spec.CodeNotAccepted && p.Pos == l.spec.Pos })
	if told || table == l.table && engine == l.engine {
		return
	}
	s := &standing{note: "the ledger that stands is"}
	r.changed(s, l.spec.Pos, token.Position{Filename: name, Line: 1, Column: 1}, "idem:ledger: the ledger of %s was in table %s on %s and becomes one in table %s on %s: %s",
		l.owner, table, engine, l.table, l.engine, runsAgain)
}

func (r *run) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(r.result.Notes, text) {
		r.result.Notes = append(r.result.Notes, text)
	}
}

func (r *run) changed(s *standing, pos, old token.Position, format string, args ...any) {
	old.Filename = r.result.Name(old.Filename)
	r.report(spec.Problem{
		Pos: pos, Code: spec.CodeNotAccepted, Message: fmt.Sprintf(format, args...),
		Other: &spec.Other{Pos: old, Note: s.note},
	})
}
