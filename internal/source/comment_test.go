package source

import (
	"go/token"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/spec"
)

func TestReadComment(t *testing.T) {
	const directive, silence = "a directive", ""
	for _, c := range []struct {
		text, want string // a code, a directive or silence
	}{
		{"//idem:endpoint POST /orders", directive},
		{"//idem:endpoint\tPOST /orders  ", directive},
		{"//idem:unknown", directive}, // for the grammar to refuse
		{"//idem:key header=\"X\"", directive},
		{"//go:generate go tool idemgen", silence},
		{"//other:endpoint", silence},
		{"//item:price", silence},
		{"// see //idem:endpoint", silence},
		{"// The idem:endpoint directive", silence},
		{"// idem: as above", silence},
		{"// idem:potent is a word", silence},
		{"// idempotent: yes", silence},
		{"// Idem", silence},
		{"//", silence},
		{"/**/", silence},
		{"/* The idem:endpoint directive */", silence},
		{"/* as it says\n   below: idem:endpoint */", silence},
		{"// //idem:endpoint POST /commented/out", silence},
		{"// idem:endpoint POST /orders", spec.CodeSpaced},
		{"//\tidem:endpoint", spec.CodeSpaced},
		{"//idem: endpoint", spec.CodeSpaced},
		{"//idem :endpoint", spec.CodeSpaced},
		{"// idem : endpoint POST", spec.CodeSpaced},
		{"// Idem:Endpoint POST", spec.CodeSpaced},
		{"// idem:leas 30s", spec.CodeSpaced},
		{"//idem endpoint POST", spec.CodeSpaced},
		{"//idem-lease 30s", spec.CodeSpaced},
		{"//idem/lease 30s", spec.CodeSpaced},
		{"//Idem:endpoint", spec.CodeUpperCase},
		{"//IDEM:LEASE", spec.CodeUpperCase},
		{"//idem:Endpoint", spec.CodeUpperCase},
		{"//idem:", spec.CodeUnknown},
		{"//idem: ", spec.CodeUnknown},
		{"//idem: as above", spec.CodeUnknown},
		{"//idem:?", spec.CodeUnknown},
		{"//idemgen:lease 30s", spec.CodeUnknown},
		{"//idme:lease 30s", spec.CodeUnknown},
		{"/*idem:endpoint POST /orders*/", spec.CodeBlock},
		{"/* IDEM:endpoint POST /orders */", spec.CodeBlock},
		{"/*\n * Create places an order.\n * idem:endpoint POST /orders\n */", spec.CodeBlock},
		{"//idem:key header=\"X", spec.CodeQuoting},
	} {
		got := readComment(c.text, token.Position{Filename: "f.go", Line: 3, Column: 2})
		switch {
		case len(got.problems) > 0:
			if code := got.problems[0].Code; code != c.want {
				t.Errorf("%q: %s %s, want %q", c.text, code, got.problems[0].Message, c.want)
			}
		case got.ok != (c.want == directive) || got.silent() != (c.want == silence):
			t.Errorf("%q: directive %t, want %q", c.text, got.ok, c.want)
		}
	}
}

func TestReadCommentPositions(t *testing.T) {
	got := readComment("//idem:response  max=1KiB replay=A,B", token.Position{Filename: "f.go", Offset: 100, Line: 3, Column: 2})
	words := got.directive.Words
	if len(words) != 2 {
		t.Fatalf("read %+v", words)
	}
	for i, want := range []struct{ offset, column, value int }{{117, 19, 23}, {126, 28, 35}} {
		if pos := words[i].Pos; pos.Offset != want.offset || pos.Column != want.column || pos.Line != 3 {
			t.Errorf("word %d stands at %+v, want %+v", i, pos, want)
		}
		if pos := words[i].ValuePos; pos.Column != want.value {
			t.Errorf("the value of word %d stands at %+v, want %+v", i, pos, want)
		}
	}
	block := readComment("/*\n   idem:lease 10s\n*/", token.Position{Filename: "f.go", Line: 3, Column: 2})
	if pos := block.problems[0].Pos; pos.Line != 4 || pos.Column != 4 {
		t.Errorf("in a block the position is %v, want 4:4", pos)
	}
}

// FuzzDirective reads any comment: whatever is written exactly like a
// directive is one or a problem, never nothing, and every place that is named
// lies in the comment.
func FuzzDirective(f *testing.F) {
	for _, seed := range []string{
		"//idem:endpoint POST /orders/{id} status=201 name=\"POST /v1/orders/{}\"",
		"//idem:fingerprint Content-Type,X-A X-B body=json",
		"//idem:response max=16KiB replay=`Content-Type,Location`",
		"//idem:lease 30s timeout=25s renew=off",
		"//idem:key optional header=",
		"//idem:on mismatch=\"409\"x failure=\"sto",
		"// idem:api prefix=/v1",
		"/* idem:retain 24h\n\tgone=1h */",
		"//idem:a\u00a0b=\"\\u00e9\u00e9\"\tc",
		"//Idem : ledger\r",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		block := strings.HasPrefix(text, "/*")
		if !block && (!strings.HasPrefix(text, "//") || strings.ContainsAny(text, "\n")) {
			return // no comment that the scanner gives
		}
		at := token.Position{Filename: "f.go", Offset: 1000, Line: 10, Column: 5}
		got := readComment(text, at)
		if strings.HasPrefix(text, "//idem:") && got.silent() {
			t.Errorf("%q is passed over in silence", text)
		}
		inside := func(pos token.Position) bool {
			if pos.Filename != "f.go" || pos.Line < 10 || pos.Line > 10+strings.Count(text, "\n") || pos.Column < 1 {
				return false
			}
			return pos.Line > 10 || pos.Column >= 5 && pos.Column <= 5+len(text)
		}
		for _, problem := range got.problems {
			if !inside(problem.Pos) || problem.Message == "" || problem.Code == "" {
				t.Errorf("%q: problem %+v", text, problem)
			}
		}
		for _, word := range got.directive.Words {
			if !inside(word.Pos) || !inside(word.ValuePos) {
				t.Errorf("%q: word %+v", text, word)
			}
		}
		if got.ok {
			checkGrammar(t, text, got.directive, inside)
		}
	})
}

// checkGrammar runs a directive through the rules, on an interface and on a
// method.
func checkGrammar(t *testing.T, text string, d spec.Directive, inside func(token.Position) bool) {
	elsewhere := token.Position{Filename: "f.go", Line: 10, Column: 5}
	mark := spec.Directive{Name: "api", Pos: elsewhere}
	draft := &spec.Draft{
		Package: &spec.Package{Name: "p", Path: "p", Dir: "/p"},
		Interfaces: []spec.DraftInterface{
			{Name: "A", Pos: elsewhere, Directives: []spec.Directive{mark, d}},
			{Name: "B", Pos: elsewhere, Directives: []spec.Directive{mark}, Methods: []spec.DraftMethod{{Name: "M", Pos: elsewhere, Directives: []spec.Directive{d}}}},
		},
	}
	_, problems := spec.Build([]*spec.Draft{draft})
	for _, problem := range problems {
		if !inside(problem.Pos) || problem.Message == "" || problem.Code == "" {
			t.Errorf("%q: problem %+v", text, problem)
		}
	}
}
