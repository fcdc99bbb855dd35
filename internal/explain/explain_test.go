package explain

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/idemgen/idemgen/internal/source"
	"github.com/idemgen/idemgen/internal/spec"
	"github.com/idemgen/idemgen/runtime"
)

var update = flag.Bool("update", false, "write the golden files anew")

// newModule makes a module of files that uses this repository.
func newModule(t *testing.T, files []txtar.File) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	goMod := txtar.File{Name: "go.mod", Data: fmt.Appendf(nil, "module example.test\n\ngo 1.26.0\n\nrequire github.com/idemgen/idemgen v0.0.0\n\nreplace github.com/idemgen/idemgen => %s\n", filepath.ToSlash(root))}
	for _, f := range append([]txtar.File{goMod}, files...) {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// load loads a module's packages.
func load(t *testing.T, dir string) []*spec.Package {
	t.Helper()
	env := append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local")
	packages, err := source.Load(context.Background(), source.Config{Dir: dir, Env: env}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// TestGolden compares the report with the files want.txt and want.json of each
// archive.
func TestGolden(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var input []txtar.File
			wanted := map[string]string{}
			for _, f := range archive.Files {
				if strings.HasPrefix(f.Name, "want.") {
					wanted[f.Name] = string(f.Data)
				} else {
					input = append(input, f)
				}
			}
			report := Explain(load(t, newModule(t, input)))
			var text, document bytes.Buffer
			if err := report.WriteText(&text); err != nil {
				t.Fatal(err)
			}
			encoder := json.NewEncoder(&document)
			encoder.SetEscapeHTML(false)
			encoder.SetIndent("", "  ")
			if err := encoder.Encode(report); err != nil {
				t.Fatal(err)
			}
			if *update {
				archive.Files = append(input, txtar.File{Name: "want.txt", Data: text.Bytes()}, txtar.File{Name: "want.json", Data: document.Bytes()})
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			for file, got := range map[string]string{"want.txt": text.String(), "want.json": document.String()} {
				if got != wanted[file] {
					t.Errorf("%s is\n%s\nwant\n%s", file, got, wanted[file])
				}
			}
			for line := range strings.Lines(text.String()) {
				if len(strings.TrimSuffix(line, "\n")) > Width {
					t.Errorf("the line is wider than %d columns: %s", Width, line)
				}
			}
		})
	}
}

// TestArgumentsAreDirectives writes what is explained as directives and reads
// it back: the policies must be the same.
func TestArgumentsAreDirectives(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/policies.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var input []txtar.File
	for _, f := range archive.Files {
		if !strings.HasPrefix(f.Name, "want.") {
			input = append(input, f)
		}
	}
	packages := load(t, newModule(t, input))
	var again strings.Builder
	again.WriteString("package again\n\nimport (\n\t\"context\"\n\n\t\"github.com/idemgen/idemgen/runtime\"\n)\n")
	for i, api := range Explain(packages).Packages[0].APIs {
		for j, e := range api.Endpoints {
			lines := map[string]string{}
			var order []string
			for _, v := range e.Policy {
				if lines[v.Directive] == "" {
					order = append(order, v.Directive)
				}
				lines[v.Directive] += " " + v.Argument
			}
			fmt.Fprintf(&again, "\n//idem:api profile=%s%s\ntype A%dx%d interface {\n", api.Profile, lines["idem:api"], i, j)
			for _, directive := range order {
				switch directive {
				case "idem:api":
				case "idem:commit": // these have no transaction
				case "idem:endpoint":
					fmt.Fprintf(&again, "\t//%s %s %s%s\n", directive, e.Method, e.Pattern, lines[directive])
				default:
					fmt.Fprintf(&again, "\t//%s%s\n", directive, lines[directive])
				}
			}
			again.WriteString("\tDo(ctx context.Context, r *runtime.Request) (*runtime.Response, error)\n}\n")
		}
	}
	read := load(t, newModule(t, []txtar.File{{Name: "again.go", Data: []byte(again.String())}}))[0].APIs
	n := 0
	for _, api := range packages[0].APIs {
		for _, e := range api.Endpoints {
			if got := read[n].Endpoints[0].Policy; !reflect.DeepEqual(got, e.Policy) {
				t.Errorf("%s: read back, the policy is\n%+v\nwant\n%+v", e.Name, got, e.Policy)
			}
			n++
		}
	}
	if n < 5 {
		t.Errorf("only %d endpoints were compared", n)
	}
}

// TestEveryFieldIsExplained changes each field of a policy: the explanation
// must change with it.
func TestEveryFieldIsExplained(t *testing.T) {
	explained := func(p runtime.Policy) string {
		content, err := json.Marshal(explainEndpoint(&spec.Package{}, &spec.Endpoint{Policy: p, Tx: &spec.Transaction{}}))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	standard := runtime.DefaultPolicy("POST /")
	differs := func(name string, changed runtime.Policy) {
		if explained(changed) == explained(standard) {
			t.Errorf("another %s explains no differently", name)
		}
	}
	for i := range reflect.TypeFor[runtime.Policy]().NumField() {
		changed := standard
		field := reflect.ValueOf(&changed).Elem().Field(i)
		switch field.Kind() {
		case reflect.String:
			field.SetString(field.String() + "x")
		case reflect.Bool:
			field.SetBool(!field.Bool())
		case reflect.Int, reflect.Int64:
			field.SetInt(field.Int() + 1000)
		case reflect.Slice:
			field.Set(reflect.ValueOf([]string{"x"}))
		case reflect.Struct:
			continue // the fingerprint's rule, below
		default:
			t.Errorf("a field of kind %s is not compared", field.Kind())
		}
		differs(reflect.TypeFor[runtime.Policy]().Field(i).Name, changed)
	}
	body, headers := standard, standard
	body.Fingerprint.Body = runtime.BodyJSON
	headers.Fingerprint.Headers = nil
	differs("body mode", body)
	differs("allowlist", headers)
}

func TestRenewAndWait(t *testing.T) {
	p := runtime.DefaultPolicy("POST /")
	p.Renew, p.Timeout, p.Wait = true, 10*time.Minute, 5*time.Second
	e := explainEndpoint(&spec.Package{}, &spec.Endpoint{Policy: p})
	if want := "0s |== the handler runs, its lease is renewed ==| 10m deadline; takeover 30s after the last renewal"; e.Lease != want {
		t.Errorf("the lease is %q, want %q", e.Lease, want)
	}
	wanted := Decision{"a retry, still running", 409, "idempotency_key_in_progress", "Retry-After at most 30s, but first waits 5s for the answer"}
	if !slices.Contains(e.Decisions, wanted) {
		t.Errorf("the decisions are %+v, want among them %+v", e.Decisions, wanted)
	}
}

func TestNothing(t *testing.T) {
	report := Explain([]*spec.Package{{Path: "example.test"}})
	content, err := json.Marshal(report)
	if err != nil || string(content) != `{"packages":[]}` {
		t.Errorf("the report is %s, %v", content, err)
	}
}
