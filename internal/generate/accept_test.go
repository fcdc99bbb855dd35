package generate

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/idemgen/idemgen/internal/spec"
	"github.com/idemgen/idemgen/templates"
)

// TestAccept generates what a case has under before/, or puts the file
// standing in its place, and then the case's other files over it. An empty file
// git adds all to git's index, and an empty file deleted removes the output then. What is said
// then is under want/: problems, or notes, or nothing. With Accept everything
// passes, and after that nothing is left to accept.
func TestAccept(t *testing.T) {
	for _, c := range readCases(t, "accept") {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			module := newModule(t)
			output := filepath.Join(module, templates.FileName)
			for _, f := range c.archive.Files {
				if name, ok := strings.CutPrefix(f.Name, "before/"); ok {
					writeFile(t, filepath.Join(module, name), string(f.Data))
				}
				if f.Name == "standing" {
					writeFile(t, output, string(f.Data))
				}
			}
			if _, err := os.Stat(output); err != nil {
				generated(t, module)
			}
			for _, f := range c.archive.Files {
				if !strings.HasPrefix(f.Name, "before/") && !strings.HasPrefix(f.Name, wanted) && f.Name != "standing" && f.Name != "git" && f.Name != "deleted" {
					writeFile(t, filepath.Join(module, f.Name), string(f.Data))
				}
			}
			if c.has("git") {
				for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}} {
					git := exec.Command("git", args...)
					git.Dir = module
					if out, err := git.CombinedOutput(); err != nil {
						t.Fatalf("git %s: %v\n%s", args, err, out)
					}
				}
			}
			if c.has("deleted") {
				if err := os.Remove(output); err != nil {
					t.Fatal(err)
				}
			}
			before := tree(t, module)
			c.compareAnswer(t, module)
			sameTree(t, before, tree(t, module))

			accepting := moduleConfig(module)
			accepting.Accept = true
			result, err := Generate(context.Background(), accepting)
			if err != nil {
				t.Fatalf("with Accept: %v", err)
			}
			if len(result.Notes) > 0 {
				t.Errorf("with Accept there is nothing to say, but: %s", result.Notes)
			}
			if _, err := result.Write(); err != nil {
				t.Fatal(err)
			}
			equal(t, generated(t, module))
		})
	}
}

// has reports whether a case has a file.
func (c testCase) has(name string) bool {
	return slices.ContainsFunc(c.archive.Files, func(f txtar.File) bool { return f.Name == name })
}

// compareAnswer compares what a generation says with what the case wants.
func (c testCase) compareAnswer(t *testing.T, module string) {
	t.Helper()
	result, err := Generate(context.Background(), moduleConfig(module))
	var problems spec.Problems
	if err != nil && !errors.As(err, &problems) {
		t.Fatal(err)
	}
	got := map[string]string{}
	if len(problems) > 0 {
		got["problems"] = problems.Error() + "\n"
	}
	for _, p := range problems {
		if p.Code != spec.CodeNotAccepted || !p.Pos.IsValid() || p.Other == nil || !p.Other.Pos.IsValid() {
			t.Errorf("code, position or second position is not as it should be: %+v", p)
		}
	}
	if result != nil && len(result.Notes) > 0 {
		got["notes"] = strings.Join(result.Notes, "\n") + "\n"
	}
	if *update {
		var files []txtar.File
		for _, name := range []string{"problems", "notes"} {
			if got[name] != "" {
				files = append(files, txtar.File{Name: name, Data: []byte(got[name])})
			}
		}
		c.rewrite(t, files...)
		return
	}
	for _, name := range []string{"problems", "notes"} {
		if want := string(c.want(name)); got[name] != want {
			t.Errorf("run with -update if this is right: %s are\n%swant\n%s", name, got[name], want)
		}
	}
}
