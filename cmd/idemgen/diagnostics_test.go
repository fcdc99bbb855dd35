package main

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// diagnostics reads what -json prints.
func diagnostics(t *testing.T, stderr string) []diagnostic {
	t.Helper()
	var all []diagnostic
	for line := range strings.Lines(stderr) {
		var d diagnostic
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Errorf("%v in %s", err, line)
		}
		all = append(all, d)
	}
	return all
}

func TestProblemsAsJSON(t *testing.T) {
	module := newModule(t, map[string]string{"a.go": `package a

import "context"

//idem:api
type API interface {
	//idem:endpoint POST /do
	//idem:leese 3s
	//idem:retain 24h
	//idem:retain 48h
	Do(ctx context.Context) error
}
`})
	wanted := []diagnostic{
		{File: "a.go", Line: 8, Col: 2, Code: "IDEM007", Message: "unknown directive //idem:leese (did you mean //idem:lease?)", Hint: "did you mean //idem:lease?"},
		{File: "a.go", Line: 10, Col: 2, Code: "IDEM008", Message: "//idem:retain stands here twice: each directive stands at most once in one place", Other: &second{"a.go", 9, 2, "the first one is"}},
	}
	for code, args := range map[int][]string{1: {"-json", "-C", module}, 2: {"check", "--json", "-C", module}} {
		stdout, stderr := idemgen(t, code, args...)
		want(t, "stdout", stdout, "")
		if got := diagnostics(t, stderr); !reflect.DeepEqual(got, wanted) {
			t.Errorf("%v prints %s", args, stderr)
		}
	}
	_, stderr := idemgen(t, 2, "-json", "-C", filepath.Join(module, "missing"))
	if got := diagnostics(t, stderr); len(got) != 1 || got[0].Message == "" || got[0].File != "" {
		t.Errorf("trouble prints %s", stderr)
	}
}

// TestManyProblemsAsJSON has more problems than people are shown.
func TestManyProblemsAsJSON(t *testing.T) {
	source := "package a\n\n//idem:api\ntype API interface {\n" + strings.Repeat("\t//idem:x\n", 80) + "\tDo()\n}\n"
	module := newModule(t, map[string]string{"a.go": source})
	_, stderr := idemgen(t, 1, "-json", "-C", module)
	if got := len(diagnostics(t, stderr)); got < 80 {
		t.Errorf("%d problems are printed, not all", got)
	}
}
