package spec

import (
	"go/token"
	"testing"
)

func TestProblemsError(t *testing.T) {
	at := func(file string, line, column int) token.Position {
		return token.Position{Filename: file, Line: line, Column: column}
	}
	problems := Problems{
		{Pos: at("b.go", 1, 1), Code: CodePolicy, Message: "third"},
		{Pos: at("a.go", 10, 2), Code: CodeDuplicate, Message: "second", Other: &Other{at("a.go", 3, 2), "the first one is"}},
		{Pos: at("a.go", 9, 20), Code: CodeValue, Message: "first"},
		{Pos: at("b.go", 1, 1), Code: CodePolicy, Message: "third"},
	}
	want := "a.go:9:20: first\n" +
		"a.go:10:2: second\n" +
		"\tthe first one is at a.go:3:2\n" +
		"b.go:1:1: third"
	if got := problems.Error(); got != want {
		t.Errorf("the problems print as\n%s\nwant\n%s", got, want)
	}
	if problems[0].Message != "third" {
		t.Error("printing has reordered the problems")
	}
}
