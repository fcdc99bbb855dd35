package generate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/idemgen/idemgen/internal/source"
	"github.com/idemgen/idemgen/internal/spec"
	"github.com/idemgen/idemgen/templates"
)

// api is a package with one annotated interface. extra are more directives.
func api(name string, extra ...string) string {
	return "package " + name + "\n\nimport \"context\"\n\n//idem:api\n" + strings.Join(append(extra, ""), "\n") +
		"type API interface {\n\t//idem:endpoint POST /do\n\tDo(ctx context.Context) error\n}\n"
}

// plain is a package without.
func plain(name string) string { return "package " + name + "\n" }

// generated generates and writes, and returns what was done, in the form
// "changed a/idem_gen.go".
func generated(t *testing.T, module string, patterns ...string) []string {
	t.Helper()
	result := mustGenerate(t, module, patterns...)
	done, err := result.Write()
	if err != nil {
		t.Fatal(err)
	}
	return described(result, done)
}

func mustGenerate(t *testing.T, module string, patterns ...string) *Result {
	t.Helper()
	result, err := Generate(context.Background(), moduleConfig(module), patterns...)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func described(r *Result, differences []Difference) []string {
	var all []string
	for _, d := range differences {
		all = append(all, string(d.Kind)+" "+r.Name(d.Path))
	}
	return all
}

// ledgerIn are the files of a ledger folder.
func ledgerIn(kind Kind, folder string) []string {
	var all []string
	for name := range sqlcNames() {
		all = append(all, string(kind)+" "+folder+"/"+name)
	}
	return all
}

func equal(t *testing.T, got []string, want ...[]string) {
	t.Helper()
	all := slices.Concat(want...)
	slices.Sort(all)
	got = slices.Sorted(slices.Values(got))
	if !slices.Equal(got, all) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(all, "\n\t"))
	}
}

func TestSourceAndTemplatesAgree(t *testing.T) {
	if templates.Header != source.Header || templates.FileName != source.OutputFile {
		t.Error("packages source and templates name the output differently")
	}
}

// Origin: https://github.com/matryer/moq/pull/179
func TestWriteIsIdempotent(t *testing.T) {
	t.Parallel()
	module := newModule(t)
	writeFile(t, filepath.Join(module, "a", "a.go"), api("a", "//idem:ledger"))
	equal(t, generated(t, module, "./..."), []string{"missing a/idem_gen.go"}, ledgerIn(Missing, "a/ledger"))

	output := filepath.Join(module, "a", "idem_gen.go")
	past := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	if err := os.Chtimes(output, past, past); err != nil {
		t.Fatal(err)
	}
	before := tree(t, module)
	equal(t, generated(t, module, "./..."))
	equal(t, generated(t, module, "./a"))
	info, err := os.Stat(output)
	if err != nil {
		t.Fatal(err)
	}
	if !info.ModTime().Equal(past) {
		t.Error("equal content was written again")
	}
	sameTree(t, before, tree(t, module))
}

// Origin: https://github.com/smallnest/gen/issues/111
func TestLineEndsDoNotCount(t *testing.T) {
	t.Parallel()
	module := newModule(t)
	writeFile(t, filepath.Join(module, "a.go"), api("a", "//idem:ledger"))
	generated(t, module)
	for name, content := range tree(t, module) {
		writeFile(t, filepath.Join(module, name), strings.ReplaceAll(content, "\n", "\r\n"))
	}
	before := tree(t, module)
	equal(t, generated(t, module))
	sameTree(t, before, tree(t, module))
}

// Origin: https://github.com/matryer/moq/blob/main/main.go
func TestModes(t *testing.T) {
	t.Parallel()
	module := newModule(t)
	writeFile(t, filepath.Join(module, "a", "a.go"), api("a", "//idem:ledger"))
	generated(t, module, "./...")
	plainMode := func(path string) os.FileMode {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode()
	}
	// Files and folders that the test made under the same umask.
	if got, want := plainMode(filepath.Join(module, "a", "idem_gen.go")), plainMode(filepath.Join(module, "a", "a.go")); got != want {
		t.Errorf("a new file has mode %v, want %v", got, want)
	}
	if got, want := plainMode(filepath.Join(module, "a", "ledger")), plainMode(filepath.Join(module, "a")); got != want {
		t.Errorf("a new folder has mode %v, want %v", got, want)
	}
	output := filepath.Join(module, "a", "idem_gen.go")
	if err := os.Chmod(output, 0o660); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(module, "a", "a.go"), api("a", "//idem:ledger", "//idem:retain 48h"))
	equal(t, generated(t, module, "./..."), []string{"changed a/idem_gen.go"})
	if got := plainMode(output); got != 0o660 {
		t.Errorf("a replaced file has mode %v, want the one it had, -rw-rw----", got)
	}
}

// Origin: https://github.com/sqlc-dev/sqlc/issues/105
func TestStaleOutput(t *testing.T) {
	t.Parallel()
	module := newModule(t)
	writeFile(t, filepath.Join(module, "a", "a.go"), api("a", "//idem:ledger dir=internal/db"))
	writeFile(t, filepath.Join(module, "b", "b.go"), api("b"))
	generated(t, module, "./...")

	writeFile(t, filepath.Join(module, "a", "a.go"), plain("a"))
	result := mustGenerate(t, module, "./...")
	differences, err := result.Compare()
	if err != nil {
		t.Fatal(err)
	}
	want := append([]string{"stale a/idem_gen.go"}, ledgerIn(Stale, "a/internal/db")...)
	equal(t, described(result, differences), want)
	equal(t, generated(t, module, "./..."), want)
	if _, err := os.Stat(filepath.Join(module, "a", "internal")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the empty folders of the ledger stayed: %v", err)
	}
	if _, err := os.Stat(filepath.Join(module, "a", "a.go")); err != nil {
		t.Error(err)
	}
}

// Origin: https://github.com/sqlc-dev/sqlc/issues/105
func TestStaleLedger(t *testing.T) {
	t.Parallel()
	module := newModule(t)
	source := filepath.Join(module, "a", "a.go")
	writeFile(t, source, api("a", "//idem:ledger dir=old"))
	generated(t, module, "./...")
	// What the user put beside our files is the user's.
	writeFile(t, filepath.Join(module, "a", "old", "notes.txt"), "Mine.\n")
	writeFile(t, filepath.Join(module, "a", "old", "more.sql.go"), sqlcHeader+"\n\npackage old\n")
	writeFile(t, filepath.Join(module, "a", "old", "migrations", "1.sql"), "-- by hand\n")

	writeFile(t, source, api("a", "//idem:ledger dir=new"))
	equal(t, generated(t, module, "./..."), []string{"changed a/idem_gen.go"}, ledgerIn(Missing, "a/new"), ledgerIn(Stale, "a/old"))
	for _, kept := range []string{"notes.txt", "more.sql.go", "migrations/1.sql"} {
		if _, err := os.Stat(filepath.Join(module, "a", "old", kept)); err != nil {
			t.Error(err)
		}
	}

	writeFile(t, source, api("a"))
	equal(t, generated(t, module, "./..."), []string{"changed a/idem_gen.go"}, ledgerIn(Stale, "a/new"))
}

func TestStaleFileInLedger(t *testing.T) {
	t.Parallel()
	module := newModule(t)
	writeFile(t, filepath.Join(module, "a.go"), api("a", "//idem:ledger"))
	generated(t, module)
	writeFile(t, filepath.Join(module, "ledger", "earlier.go"), templates.Header+"\n\npackage ledger\n")
	writeFile(t, filepath.Join(module, "ledger", "earlier.sql"), "-- "+strings.TrimPrefix(templates.Header, "// ")+"\n")
	writeFile(t, filepath.Join(module, "ledger", "mine.go"), "package ledger\n")
	writeFile(t, filepath.Join(module, "ledger", "mine.sql.go"), sqlcHeader+"\n\npackage ledger\n")
	equal(t, generated(t, module), []string{"stale ledger/earlier.go", "stale ledger/earlier.sql"})
}

// TestLedgerOfAnotherPackage: a ledger that one package no longer asks for
// stays while another uses it, also when that one is not part of the run.
func TestLedgerOfAnotherPackage(t *testing.T) {
	t.Parallel()
	module := newModule(t)
	writeFile(t, filepath.Join(module, "a", "a.go"), api("a", "//idem:ledger dir=../ledger"))
	writeFile(t, filepath.Join(module, "b", "b.go"), strings.Replace(api("b", "//idem:ledger dir=../ledger"), "/do", "/other", 1))
	equal(t, generated(t, module, "./..."), []string{"missing a/idem_gen.go", "missing b/idem_gen.go"}, ledgerIn(Missing, "ledger"))
	writeFile(t, filepath.Join(module, "a", "a.go"), api("a"))
	equal(t, generated(t, module, "./a"), []string{"changed a/idem_gen.go"})
	writeFile(t, filepath.Join(module, "b", "b.go"), plain("b"))
	equal(t, generated(t, module, "./b"), []string{"stale b/idem_gen.go"}, ledgerIn(Stale, "ledger"))
}

// TestForgedLedgerLine: a line in the old output cannot lead the removal out of
// the module, or to a folder that is not ours.
func TestForgedLedgerLine(t *testing.T) {
	t.Parallel()
	parent := newModule(t)
	module := filepath.Join(parent, "inner")
	if err := os.Mkdir(module, 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(module, "go.mod"), tree(t, parent)["go.mod"])
	writeFile(t, filepath.Join(parent, "outside", ledgerFile), templates.Header+"\n")
	writeFile(t, filepath.Join(module, "handmade", "db.go"), sqlcHeader+"\n")
	writeFile(t, filepath.Join(module, "a.go"), api("a"))
	writeFile(t, filepath.Join(module, "idem_gen.go"), templates.Header+"\n\npackage a\n\n"+
		templates.LedgerPrefix+"../outside\n"+templates.LedgerPrefix+"handmade\n"+templates.LedgerPrefix+"/\n"+templates.LedgerPrefix+"\n")
	equal(t, generated(t, module), []string{"changed idem_gen.go"})
}

// Origin: https://github.com/ent/ent/issues/852
func TestConflictMarkers(t *testing.T) {
	t.Parallel()
	module := newModule(t)
	source := filepath.Join(module, "a.go")
	output := filepath.Join(module, "idem_gen.go")
	writeFile(t, source, api("a", "//idem:ledger dir=theirs"))
	generated(t, module)
	theirs := tree(t, module)["idem_gen.go"]
	if err := os.Remove(output); err != nil {
		t.Fatal(err)
	}
	writeFile(t, source, api("a", "//idem:ledger dir=ours"))
	generated(t, module)
	merged := tree(t, module)["idem_gen.go"]

	header, rest, _ := strings.Cut(merged, "\n")
	_, otherRest, _ := strings.Cut(theirs, "\n")
	writeFile(t, output, header+"\n<<<<<<< HEAD\n"+rest+"=======\n"+otherRest+">>>>>>> theirs\n")
	equal(t, generated(t, module), []string{"changed idem_gen.go"}, ledgerIn(Stale, "theirs"))
	if got := tree(t, module)["idem_gen.go"]; got != merged {
		t.Error("the conflict was not resolved to what the source asks for")
	}

	// Both sides added the whole file.
	writeFile(t, output, "<<<<<<< HEAD\n"+merged+"=======\n"+theirs+">>>>>>> theirs\n")
	equal(t, generated(t, module), []string{"changed idem_gen.go"})
}

// refusal generates in a module where something stands in the way, and returns
// what is said. Nothing may change.
func refusal(t *testing.T, module string) string {
	t.Helper()
	before := tree(t, module)
	_, err := Generate(context.Background(), moduleConfig(module), "./...")
	problems, ok := err.(spec.Problems)
	if !ok {
		t.Fatalf("got %v, want problems", err)
	}
	sameTree(t, before, tree(t, module))
	return problems.Error()
}

// Origin: https://github.com/matryer/moq/blob/main/main.go
func TestReadOnlyTarget(t *testing.T) {
	t.Parallel()
	module := newModule(t)
	writeFile(t, filepath.Join(module, "a.go"), api("a"))
	generated(t, module)
	if err := os.Chmod(filepath.Join(module, "idem_gen.go"), 0o444); err != nil {
		t.Fatal(err)
	}
	if got, want := refusal(t, module), "idem_gen.go is read-only"; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q in it", got, want)
	}
}

func TestTargetIsNoFile(t *testing.T) {
	t.Parallel()
	module := newModule(t)
	writeFile(t, filepath.Join(module, "a", "a.go"), api("a"))
	if err := os.Mkdir(filepath.Join(module, "a", "idem_gen.go"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(module, "b", "b.go"), api("b", "//idem:ledger dir=file/ledger"))
	writeFile(t, filepath.Join(module, "b", "file"), "Mine.\n")
	got := refusal(t, module)
	for _, want := range []string{"a/a.go:6:6: API: a/idem_gen.go is not a regular file", "b/b.go:6:1: idem:ledger of API: folder b/file/ledger cannot be read: not a directory"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
}

func TestSymbolicLinks(t *testing.T) {
	outside := t.TempDir()
	writeFile(t, filepath.Join(outside, "precious.go"), templates.Header+"\n\npackage precious\n")
	link := func(t *testing.T, to, from string) {
		t.Helper()
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("file", func(t *testing.T) {
		module := newModule(t)
		writeFile(t, filepath.Join(module, "a.go"), api("a"))
		link(t, filepath.Join(outside, "precious.go"), filepath.Join(module, "idem_gen.go"))
		if got, want := refusal(t, module), "idem_gen.go is a symbolic link"; !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	})
	t.Run("folder outside", func(t *testing.T) {
		module := newModule(t)
		writeFile(t, filepath.Join(module, "a.go"), api("a", "//idem:ledger dir=data/ledger"))
		link(t, outside, filepath.Join(module, "data"))
		if got, want := refusal(t, module), "outside the module"; !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
		if files := tree(t, outside); len(files) != 1 {
			t.Errorf("files were written outside the module: %v", files)
		}
	})
	t.Run("folder inside", func(t *testing.T) {
		module := newModule(t)
		writeFile(t, filepath.Join(module, "a.go"), api("a", "//idem:ledger dir=data/ledger"))
		if err := os.Mkdir(filepath.Join(module, "real"), 0o755); err != nil {
			t.Fatal(err)
		}
		link(t, "real", filepath.Join(module, "data"))
		generated(t, module)
		if _, err := os.Stat(filepath.Join(module, "real", "ledger", ledgerFile)); err != nil {
			t.Error(err)
		}
	})
}

// TestRollBack makes the last of several steps fail: whatever stood stands
// again, and nothing is left over.
//
// Origin: https://github.com/99designs/gqlgen/issues/1211
func TestRollBack(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	changed, stale := filepath.Join(folder, "changed.go"), filepath.Join(folder, "stale.go")
	writeFile(t, changed, "old\n")
	writeFile(t, stale, "stale\n")
	writeFile(t, filepath.Join(folder, "taken.go", "file"), "a folder where a file belongs\n")
	before := tree(t, folder)
	differences := []Difference{
		{Path: changed, Kind: Changed, Old: []byte("old\n"), New: []byte("new\n")},
		{Path: filepath.Join(folder, "made", "deep", "new.go"), Kind: Missing, New: []byte("new\n")},
		{Path: stale, Kind: Stale, Old: []byte("stale\n")},
	}
	for _, failing := range []Difference{
		{Path: filepath.Join(folder, "taken.go"), Kind: Missing, New: []byte("new\n")},
		{Path: filepath.Join(folder, "changed.go", "below", "new.go"), Kind: Missing, New: []byte("new\n")},
		{Path: filepath.Join(folder, "vanished.go"), Kind: Stale},
	} {
		transaction := &transaction{name: filepath.Base}
		err := transaction.apply(append(slices.Clone(differences), failing))
		if err == nil {
			t.Fatalf("%s was written", failing.Path)
		}
		if !strings.Contains(err.Error(), filepath.Base(failing.Path)) {
			t.Errorf("%q does not name %s", err, failing.Path)
		}
		if err := transaction.undo(); err != nil {
			t.Fatal(err)
		}
		sameTree(t, before, tree(t, folder))
		if _, err := os.Stat(filepath.Join(folder, "made")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a folder was left over: %v", err)
		}
	}
}

func TestLeftoversOfAKilledRun(t *testing.T) {
	t.Parallel()
	module := newModule(t)
	writeFile(t, filepath.Join(module, "a.go"), api("a"))
	writeFile(t, filepath.Join(module, temporary+"123-0-idem_gen.go"), "half a fi")
	writeFile(t, filepath.Join(module, temporary+"settings"), "Mine.\n")
	generated(t, module)
	files := tree(t, module)
	if _, ok := files[temporary+"123-0-idem_gen.go"]; ok {
		t.Error("a killed run's temporary file stayed")
	}
	if _, ok := files[temporary+"settings"]; !ok {
		t.Error("somebody else's file is gone")
	}
}

// TestTwoWriters writes two results over each other, again and again: all files
// are of one of them.
func TestTwoWriters(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	version := func(text string) *Result {
		r := &Result{Files: map[string][]byte{}, dir: folder}
		for i := range 20 {
			r.Files[filepath.Join(folder, fmt.Sprintf("%d", i%3), fmt.Sprintf("%d.go", i))] = []byte(text)
		}
		return r
	}
	results := []*Result{version("one\n"), version("two\n"), version("three\n")}
	for range 10 {
		var group sync.WaitGroup
		for _, r := range results {
			group.Go(func() {
				if _, err := r.Write(); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		contents := map[string]bool{}
		files := tree(t, folder)
		for _, content := range files {
			contents[content] = true
		}
		if len(contents) != 1 || len(files) != 20 {
			t.Fatalf("the files of two runs are mixed: %v", files)
		}
	}
}

// A forged line in the output and a link lead neither the removal nor the
// writing out of the module, even where the link comes after everything was
// looked at.
func TestLinksOutOfTheModule(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	writeFile(t, filepath.Join(outside, "ledger", ledgerFile), templates.Header+"\n\npackage ledger\n")
	writeFile(t, filepath.Join(outside, "ledger", "schema.sql"), "--"+strings.TrimPrefix(templates.Header, "//")+"\n")
	before := tree(t, outside)

	module := newModule(t)
	writeFile(t, filepath.Join(module, "a.go"), api("a"))
	writeFile(t, filepath.Join(module, "idem_gen.go"), templates.Header+"\n\npackage a\n\n"+templates.LedgerPrefix+"data/ledger\n")
	if err := os.Symlink(outside, filepath.Join(module, "data")); err != nil {
		t.Fatal(err)
	}
	equal(t, generated(t, module), []string{"changed idem_gen.go"})
	sameTree(t, before, tree(t, outside))

	late := newModule(t)
	writeFile(t, filepath.Join(late, "a.go"), api("a", "//idem:ledger dir=data/ledger"))
	result := mustGenerate(t, late)
	result.Stale = append(result.Stale, filepath.Join(late, "data", "ledger", "stale.go"))
	writeFile(t, filepath.Join(outside, "ledger", "stale.go"), templates.Header+"\n")
	before = tree(t, outside)
	if err := os.Symlink(outside, filepath.Join(late, "data")); err != nil {
		t.Fatal(err)
	}
	if _, err := result.Write(); err == nil || !strings.Contains(err.Error(), "escapes") {
		t.Errorf("got %v, want that the path leads out of the module", err)
	}
	sameTree(t, before, tree(t, outside))
}

// What is no regular file is not read, however long that would go on.
func TestEndlessOutput(t *testing.T) {
	t.Parallel()
	module := newModule(t)
	writeFile(t, filepath.Join(module, "a.go"), api("a"))
	if err := os.Symlink("/dev/zero", filepath.Join(module, "idem_gen.go")); err != nil {
		t.Fatal(err)
	}
	_, err := Generate(context.Background(), moduleConfig(module))
	if err == nil || !strings.Contains(err.Error(), "idem_gen.go") {
		t.Errorf("got %v, want that idem_gen.go is no regular file", err)
	}
}
