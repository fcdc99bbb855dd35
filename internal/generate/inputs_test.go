package generate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/idemgen/idemgen/internal/document"
	"github.com/idemgen/idemgen/internal/spec"
	"github.com/idemgen/idemgen/templates"
)

// An input is one thing that a user may type into a package that is otherwise
// like the base: a block of lines in a file of testdata/inputs. A line is
//
//	//...      a comment on the method; one that looks like an endpoint takes the place of the base's
//	@ //...    a comment on the interface
//	api ...    the arguments of //idem:api
//	func ...   the method, in the place of the base's
//	more ...   a line of the interface behind the method
//	in ...     a field of the request, out ... one of the result
//	decl ...   a declaration
//	queries    declarations as sqlc makes them
//	same ...   the input changes nothing in the code: it says the default, or what the rest of the line says
type input struct {
	lines         []string
	folder        string
	on, at, more  []string
	in, out, decl []string
	api, method   string
	queries, same bool
	note          string // what it does instead
}

// inputGroup is one file of inputs.
type inputGroup struct {
	title  string
	inputs []*input
}

func readInputs(t *testing.T) []inputGroup {
	t.Helper()
	files, err := filepath.Glob("testdata/inputs/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	var groups []inputGroup
	n := 0
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		title, rest, _ := strings.Cut(string(content), "\n\n")
		g := inputGroup{title: title}
		for block := range strings.SplitSeq(rest, "\n\n") {
			if block = strings.Trim(block, "\n"); block != "" {
				n++
				g.inputs = append(g.inputs, readInput(t, block, fmt.Sprintf("p%03d", n)))
			}
		}
		groups = append(groups, g)
	}
	return groups
}

func readInput(t *testing.T, block, folder string) *input {
	t.Helper()
	i := &input{folder: folder}
	for line := range strings.SplitSeq(block, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case word == "same":
			i.same, i.note = true, rest
			continue
		case line == "queries":
			i.queries = true
			continue
		case strings.HasPrefix(line, "/"):
			i.at = append(i.at, line)
		case word == "@":
			i.on = append(i.on, rest)
		case word == "api":
			i.api = rest
		case word == "func":
			i.method = rest
		case word == "more":
			i.more = append(i.more, rest)
		case word == "in":
			i.in = append(i.in, rest)
		case word == "out":
			i.out = append(i.out, rest)
		case word == "decl":
			i.decl = append(i.decl, rest)
		default:
			t.Fatalf("this line of an input says nothing: %q", line)
		}
		i.lines = append(i.lines, line)
	}
	return i
}

// inputImports are the packages that inputs may name.
var inputImports = map[string]string{
	"big": "math/big", "fmt": "fmt", "http": "net/http", "io": "io", "json": "encoding/json", "netip": "net/netip",
	"pgx": "github.com/jackc/pgx/v5", "pgxpool": "github.com/jackc/pgx/v5/pgxpool", "runtime": "github.com/idemgen/idemgen/runtime",
	"slog": "log/slog", "sql": "database/sql", "sync": "sync", "time": "time", "url": "net/url", "context": "context",
}

const inputQueries = `
type DBTX interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

type Queries struct{ db DBTX }

func New(db DBTX) *Queries { return &Queries{db} }
`

var looksLikeEndpoint = regexp.MustCompile(`(?i)end ?po?int|idem:route|idem: `)

// source is the package of an input.
func (i *input) source() string {
	var b strings.Builder
	line := func(text string) { b.WriteString(text + "\n") }
	line(strings.TrimRight("//idem:api "+i.api, " "))
	for _, text := range i.on {
		line(text)
	}
	line("type API interface {")
	if !slices.ContainsFunc(i.at, looksLikeEndpoint.MatchString) {
		line("\t//idem:endpoint POST /a")
	}
	for _, text := range i.at {
		line("\t" + text)
	}
	method := i.method
	if method == "" {
		method = "Do(ctx context.Context, in In) (*Out, error)"
	}
	line("\t" + method)
	if len(i.more) > 0 {
		line("")
	}
	for n, text := range i.more {
		if n == 0 && len(i.more) == 2 && !strings.HasPrefix(i.more[0], "/") {
			line("")
		}
		line("\t" + text)
	}
	line("}")
	for _, s := range []struct {
		name, own string
		fields    []string
	}{{"In", "Text string `json:\"text\"`", i.in}, {"Out", "ID string `json:\"id\"`", i.out}} {
		line("\ntype " + s.name + " struct {\n\t" + s.own)
		for _, field := range s.fields {
			line("\t" + field)
		}
		line("}")
	}
	for _, text := range i.decl {
		line("\n" + text)
	}
	if i.queries {
		line(inputQueries)
	}
	body := b.String()
	var imports []string
	for name, path := range inputImports {
		if regexp.MustCompile(`[^\w"/.]` + name + `\.[A-Z]`).MatchString(body) {
			imports = append(imports, fmt.Sprintf("import %q", path))
		}
	}
	slices.Sort(imports)
	return "package a\n\n" + strings.Join(imports, "\n") + "\n\n" + body
}

// TestInputs types every input, and writes down what came of it: the problem,
// or what is generated differently from the base. An input that is accepted
// changes something, unless it says that it is the default, and what is
// generated for it compiles.
func TestInputs(t *testing.T) {
	t.Parallel()
	groups := readInputs(t)
	module := newModule(t)
	base := &input{folder: "base"}
	all := []*input{base}
	seen := map[string]bool{}
	for _, g := range groups {
		for _, i := range g.inputs {
			all = append(all, i)
			if text := strings.Join(i.lines, "\n"); seen[text] {
				t.Errorf("this input stands there twice:\n%s", text)
			} else {
				seen[text] = true
			}
		}
	}
	for _, i := range all {
		writeFile(t, filepath.Join(module, i.folder, "a.go"), i.source())
	}
	refused := map[string][]string{}
	_, err := Generate(context.Background(), moduleConfig(module), "./...")
	var problems spec.Problems
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	for _, p := range problems {
		folder, _, _ := strings.Cut(p.Pos.Filename, "/")
		message, _, _ := strings.Cut(p.Message, "; the shapes are\n")
		refused[folder] = append(refused[folder], message)
	}
	var patterns []string
	for _, i := range all {
		if refused[i.folder] == nil {
			patterns = append(patterns, "./"+i.folder)
		}
	}
	result, err := Generate(context.Background(), moduleConfig(module), patterns...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := result.Write(); err != nil {
		t.Fatal(err)
	}
	outputs := map[string][]string{}
	for _, i := range all {
		outputs[i.folder] = outputLines(string(result.Files[filepath.Join(module, i.folder, templates.FileName)]))
	}
	compiles(t, module, patterns)

	d := document.New()
	for _, g := range groups {
		d.Heading(g.title)
		for _, i := range g.inputs {
			what := strings.Join(i.lines, "\n")
			if messages := refused[i.folder]; messages != nil {
				d.Refused(what, messages)
				continue
			}
			changes := difference(outputs["base"], outputs[i.folder])
			switch {
			case i.same && len(changes) > 0:
				t.Errorf("this input is said to be the default, and changes\n%s:\n%s", strings.Join(changes, "\n"), what)
			case !i.same && len(changes) == 0 && i.silent():
				t.Errorf("this input is accepted and does nothing:\n%s", what)
			}
			if i.same && i.note == "" {
				i.note = "the default"
			}
			d.Accepted(what, i.note, changes)
		}
	}
	d.Compare(t, "../../docs/inputs.md", "inputs", *update)
}

// silent reports whether an input that changes nothing is wrong: a field that
// JSON fills is nothing to generated code.
func (i *input) silent() bool {
	return len(i.in)+len(i.out)+len(i.decl) == 0
}

// compiles reports what of the generated packages does not compile.
func compiles(t *testing.T, module string, patterns []string) {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo,
		Dir:  module, Env: goEnv(),
	}, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range loaded {
		for _, e := range p.Errors {
			t.Errorf("%s is accepted, and what is generated does not compile: %v", p.PkgPath, e)
		}
	}
}

var spaces = regexp.MustCompile(`\s+`)

// outputLines are the lines of a generated file that say something, without
// their alignment.
func outputLines(content string) []string {
	var lines []string
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(spaces.ReplaceAllString(line, " "))
		comment := strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "//idemgen:")
		if line == "" || line == "}" || line == "})" || comment || strings.HasPrefix(line, `"`) || line == "import (" || line == ")" {
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

// difference is what a file has and the base has not, or, when that is nothing,
// what the base has in addition.
func difference(base, own []string) []string {
	missing := func(from, in []string, sign string) (all []string) {
		left := slices.Clone(in)
		for _, line := range from {
			if i := slices.Index(left, line); i >= 0 {
				left = slices.Delete(left, i, i+1)
			} else {
				all = append(all, sign+line)
			}
		}
		return all
	}
	if added := missing(own, base, ""); len(added) > 0 {
		return added
	}
	return missing(base, own, "without ")
}
