package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/idemgen/idemgen/internal/starter"
)

// initCommand writes a package to begin with.
func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init [dir]",
		Short: "Write a package to begin with",
		Long: `Init writes a starter package into a folder of a module (default: the current
one): an annotated interface, its implementation, and a server on SQLite with a
pure Go driver. The folder may be new; it has no Go files. Nothing is
overwritten, go.mod is not touched, and nothing is downloaded: the commands to
run next are printed.`,
		Example: `  idemgen init payments`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := a.dir
			if len(args) == 1 {
				dir = args[0]
				if !filepath.IsAbs(dir) {
					dir = filepath.Join(a.dir, dir)
				}
			}
			s, err := starter.New(dir)
			if err != nil {
				return err
			}
			written, err := s.Write()
			if err != nil {
				return err
			}
			base, err := filepath.Abs(a.dir)
			if err != nil {
				return err
			}
			for _, file := range written {
				fmt.Fprintln(a.stdout, "wrote", nameFrom(base, file))
			}
			fmt.Fprintf(a.stdout, `
Next, in this folder:

  go get -tool github.com/idemgen/idemgen/cmd/idemgen
  go get modernc.org/sqlite
  go generate %[1]s
  go run %[2]s

Then pay, and retry with the same key; the second answer is a replay:

  curl -i localhost:8080/v1/payments -H "Authorization: Bearer alice" -H "Idempotency-Key: k1" \
    -H "Content-Type: application/json" -d "{\"amount\":1250}"
`, quoted(argument(base, s.Dir)), quoted(argument(base, s.Command)))
			return nil
		},
	}
}

// nameFrom is a file's name as seen from a folder.
func nameFrom(base, file string) string {
	relative, err := filepath.Rel(base, file)
	if err != nil {
		relative = file
	}
	return filepath.ToSlash(relative)
}

// quoted is an argument as a shell takes it for one word.
func quoted(argument string) string {
	plain := func(r rune) bool {
		return r > 0x7f && unicode.IsLetter(r) || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./@%+=:,-", r)
	}
	if argument != "" && strings.TrimFunc(argument, plain) == "" {
		return argument
	}
	return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
}

// argument is a folder as the go command takes it for a package.
func argument(base, dir string) string {
	name := nameFrom(base, dir)
	if name != "." && filepath.IsLocal(filepath.FromSlash(name)) {
		name = "./" + name
	}
	return name
}
