// Command mutate breaks the engine and its SQL on purpose, one place at a time,
// and runs the test that is named to catch the break. A break that no test
// notices is a promise that nobody checks.
//
// Nothing is copied and no file is changed: the go command compiles the broken
// text in the place of the file (go test -overlay).
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	only := flag.String("only", "", "make only the mutations whose file or text matches this `regexp`")
	find := flag.Bool("find", false, "run all tests of the package, not the named one, and print which fail: to choose a name")
	out := flag.String("o", "", "write the table to this `file`")
	flag.Parse()
	if err := run(*only, *find, *out); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(only string, find bool, out string) error {
	if only != "" && out != "" {
		return errors.New("-o is for the whole table, not for a part")
	}
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var chosen []mutation
	for _, m := range all() {
		if pattern.MatchString(m.file) || pattern.MatchString(m.what) {
			chosen = append(chosen, m)
		}
	}
	r := &runner{root: root, dir: dir, took: map[test]time.Duration{}}
	if find {
		return r.find(chosen)
	}
	if err := r.baseline(chosen); err != nil {
		return err
	}
	results, err := r.tryAll(chosen)
	if err != nil {
		return err
	}
	table := markdown(results)
	fmt.Print(table)
	if out != "" {
		if err := os.WriteFile(out, []byte(table), 0o644); err != nil {
			return err
		}
	}
	if n := len(chosen) - count(results, caught); n > 0 {
		return fmt.Errorf("%d of %d mutations were not caught", n, len(chosen))
	}
	return nil
}

// moduleRoot is the folder of the repository.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}
