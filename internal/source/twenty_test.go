package source

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/idemgen/idemgen/internal/spec"
)

// TestTwentyMistakes reads one file with twenty mistakes that have nothing to
// do with each other: none may hide another, none may be told twice, and each
// stands at the very word that is wrong. The places and messages are in the
// case itself; here each place is tied to its word and its rule.
func TestTwentyMistakes(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/twenty.txtar")
	if err != nil {
		t.Fatal(err)
	}
	source := archive.Files[0]
	dir := newModule(t)
	writeFile(t, filepath.Join(dir, source.Name), string(source.Data))
	_, problems, err := load(context.Background(), Config{Dir: dir, Env: moduleEnv()}, []string{"."})
	if err != nil {
		t.Fatal(err)
	}
	wanted := []struct {
		code spec.Code
		word string // the source from the reported place on
	}{
		{spec.CodeValue, "profile=strype"},
		{spec.CodeLedger, "table=2fast"},
		{spec.CodeStatus, "status=404"},
		{spec.CodePolicy, "User-Agent"},
		{spec.CodeMethod, "GET /orders/{id}"},
		{spec.CodePattern, "/orders/{id"},
		{spec.CodeUnknownArgument, "naem=patch"},
		{spec.CodePolicy, "timeout=30s"},
		{spec.CodeValue, "30"},
		{spec.CodePolicy, "Set-Cookie"},
		{spec.CodeUnknown, "//idem:reponse max=4KiB"},
		{spec.CodeValue, "max=64KB"},
		{spec.CodeRepeated, "failure=hold"},
		{spec.CodeDuplicate, "//idem:scope principal"},
		{spec.CodeWrongPlace, "//idem:ledger"},
		{spec.CodeSameOperation, `name="POST /v1/orders/{}/note"`},
		{spec.CodeSignature, "Order, error)"},
		{spec.CodeSpaced, "// idem:endpoint POST /orders/{id}/end"},
		{spec.CodeWildcard, "ID string `path:\"id\"`"},
		{spec.CodeUnseen, "Tenant string `header:\"X-Tenant\"`"},
	}
	if len(problems) != len(wanted) {
		t.Errorf("%d problems, want %d", len(problems), len(wanted))
	}
	if !slices.IsSortedFunc(problems, func(a, b spec.Problem) int {
		if a.Pos.Line != b.Pos.Line {
			return a.Pos.Line - b.Pos.Line
		}
		return a.Pos.Column - b.Pos.Column
	}) {
		t.Error("the problems are not in the order of the source")
	}
	lines := strings.Split(string(source.Data), "\n")
	for i, problem := range problems[:min(len(problems), len(wanted))] {
		line := lines[problem.Pos.Line-1]
		if rest := line[problem.Pos.Column-1:]; problem.Code != wanted[i].code || rest != wanted[i].word {
			t.Errorf("problem %d is %s at %q, want %s at %q\n\t%s: %s", i+1,
				problem.Code, rest, wanted[i].code, wanted[i].word, problem.Pos, problem.Message)
		}
	}
}
