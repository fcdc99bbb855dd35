package generator_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// module is a module with annotated packages.
type module struct{ dir string }

// newModule writes a module with so many endpoints, spread over so many
// packages.
func newModule(tb testing.TB, packages, endpoints int) module {
	tb.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		tb.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		tb.Fatal(err)
	}
	m := module{tb.TempDir()}
	m.write(tb, "go.mod", fmt.Sprintf("module example.test\n\ngo 1.26.0\n\nrequire github.com/idemgen/idemgen v0.0.0\n\nreplace github.com/idemgen/idemgen => %s\n", filepath.ToSlash(root)))
	m.write(tb, "go.sum", string(sums))
	for i := range packages {
		m.write(tb, fmt.Sprintf("p%02d/api.go", i), source(i, endpoints/packages))
	}
	return m
}

// source is a package with one interface, of methods of all kinds. The first
// package has the ledger that all share.
func source(index, endpoints int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `package p%02d

import (
	"context"
	"database/sql"
	"net/http"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

type Create struct {
	Name    string    %[2]sjson:"name"%[2]s
	At      time.Time %[2]sjson:"at"%[2]s
	Version string    %[2]sjson:"-" header:"X-Api-Version"%[2]s
}

func (c Create) Validate() error { return nil }

type Change struct {
	ID     int64  %[2]sjson:"-" path:"id"%[2]s
	DryRun *bool  %[2]sjson:"-" query:"dry_run"%[2]s
	Reason string %[2]sjson:"reason"%[2]s
}

type Result struct {
	ID       int64  %[2]sjson:"id"%[2]s
	Location string %[2]sjson:"-" header:"Location"%[2]s
}

var (
	_ *sql.Tx
	_ *http.Request
	_ *runtime.Request
)

// API has endpoints of all kinds.
//
//idem:api prefix=/p%02[1]d
`, index, "`")
	if index == 0 {
		b.WriteString("//idem:ledger\n")
	}
	b.WriteString("//idem:fingerprint Content-Type X-Api-Version\ntype API interface {\n")
	for i := range endpoints {
		fmt.Fprintf(&b, "\t// Do%d does it.\n\t//\n", i)
		switch {
		case i%10 == 7:
			fmt.Fprintf(&b, "\t//idem:endpoint PUT /raw/%d\n\tDo%d(ctx context.Context, r *runtime.Request) (*runtime.Response, error)\n\n", i, i)
		case i%10 == 9:
			fmt.Fprintf(&b, "\t//idem:endpoint POST /standard/%d\n\tDo%d(w http.ResponseWriter, r *http.Request)\n\n", i, i)
		case i%3 == 1:
			fmt.Fprintf(&b, "\t//idem:endpoint PATCH /change/%d/{id}\n\t//idem:lease 10s timeout=8s\n\tDo%d(ctx context.Context, tx *sql.Tx, in Change) (*Result, error)\n\n", i, i)
		default:
			fmt.Fprintf(&b, "\t//idem:endpoint POST /create/%d status=201\n\tDo%d(ctx context.Context, in Create) (*Result, error)\n\n", i, i)
		}
	}
	b.WriteString("}\n")
	return b.String()
}

func (m module) write(tb testing.TB, name, content string) {
	tb.Helper()
	file := filepath.Join(m.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		tb.Fatal(err)
	}
}

// finished is a process that has run.
type finished struct {
	took   time.Duration
	peak   int // memory of the largest process, in bytes; 0 when unknown
	output string
}

// run runs a program in the module; it must succeed.
func (m module) run(tb testing.TB, extra []string, name string, args ...string) finished {
	tb.Helper()
	command := exec.Command(name, args...)
	command.Dir = m.dir
	command.Env = append(append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local"), extra...)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	start := time.Now()
	err := command.Run()
	took := time.Since(start)
	if err != nil {
		tb.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, &output)
	}
	return finished{took, peakMemory(command.ProcessState), output.String()}
}

// list has the go command list the packages with export data, as tools that
// need types ask it to.
func (m module) list(tb testing.TB, extra []string) finished {
	tb.Helper()
	return m.run(tb, extra, "go", "list", "-deps", "-export", "-f", "{{.Export}}", "./...")
}

// generatedFile reports whether a file is the generator's, by its place.
func generatedFile(path string) bool {
	return filepath.Base(path) == "idem_gen.go" || filepath.Base(filepath.Dir(path)) == "ledger"
}

// output is what stands of the generator's output: when each file was written.
func (m module) output(tb testing.TB) map[string]time.Time {
	tb.Helper()
	times := map[string]time.Time{}
	err := filepath.WalkDir(m.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !generatedFile(path) {
			return err
		}
		info, err := entry.Info()
		times[path] = info.ModTime()
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return times
}

// changed counts the files that were written between two looks at the output.
func changed(before, after map[string]time.Time) int {
	n := 0
	for path, at := range after {
		if then, stood := before[path]; !stood || !then.Equal(at) {
			n++
		}
	}
	return n
}

// clear removes the output.
func (m module) clear(tb testing.TB) {
	tb.Helper()
	for path := range m.output(tb) {
		if err := os.Remove(path); err != nil {
			tb.Fatal(err)
		}
	}
}
