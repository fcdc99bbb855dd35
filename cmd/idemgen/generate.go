package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/idemgen/idemgen/internal/generate"
)

// generateCommand generates; it is what idemgen does without a command.
func (a *app) generateCommand() *cobra.Command {
	return a.acceptFlag(&cobra.Command{
		Use:   "idemgen [packages]",
		Short: "Make annotated endpoints safe to retry",
		Long: `Idemgen generates HTTP wrappers and ledger packages from interfaces with //idem:
directives, for the packages that are named as for go build (default: the one
in the current directory). It writes all files or none, removes what it once
generated and nobody asks for any more, and touches no file that it has not
written. On success it is silent.

What decides where a key is found (table, engine, scope, the key's header, the
operation name under scope operation) is compared with the generated file that
stands. Another value is refused: retries in flight would run again. Take such
a change with -accept, by hand and once, when none are in flight.

It exits with 0 on success, 1 when the sources break rules, and 2 on any other
trouble.`,
		Example: `  idemgen ./...
  //go:generate go tool idemgen`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			result, err := a.generate(cmd.Context(), patterns)
			if err != nil {
				return withSuggestion(cmd, patterns, err)
			}
			done, err := result.Write()
			if err != nil {
				return err
			}
			for _, d := range done {
				if a.verbose && d.Kind == generate.Stale {
					fmt.Fprintln(a.stdout, "removed", result.Name(d.Path))
				} else if a.verbose {
					fmt.Fprintln(a.stdout, "wrote", result.Name(d.Path))
				}
			}
			return nil
		},
	})
}

// withSuggestion adds to an error that a package may have been meant as a
// command: what is not one of the commands is a package.
func withSuggestion(cmd *cobra.Command, patterns []string, err error) error {
	if len(patterns) == 0 || strings.ContainsAny(patterns[0], `/.\`) {
		return err // a path is no slip of a command
	}
	if near := cmd.SuggestionsFor(patterns[0]); len(near) > 0 {
		return fmt.Errorf("%w (did you mean the command %s?)", err, near[0])
	}
	return err
}
