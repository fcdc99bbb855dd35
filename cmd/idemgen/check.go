package main

import (
	"fmt"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/idemgen/idemgen/internal/generate"
)

// checkCommand compares what stands with what would be generated.
func (a *app) checkCommand() *cobra.Command {
	return a.acceptFlag(&cobra.Command{
		Use:   "check [packages]",
		Short: "Say whether the generated files are what the source says",
		Long: `Check generates in memory, compares with the files that stand, and changes
nothing in your tree. Line ends do not count. Differences are printed as
unified diffs. As every loading of packages does, it has the go command compile
what they import, which runs cgo and the C compiler where a package needs them:
for code that is not trusted that far set CGO_ENABLED=0.
Changes that need -accept are refused as they are without check.

It exits with 0 when all files are the same, 1 when one differs, is missing or
is no longer asked for, and 2 on any trouble.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			result, err := a.generate(cmd.Context(), patterns)
			if err != nil {
				return checkError{err}
			}
			differences, err := result.Compare()
			if err != nil {
				return checkError{err}
			}
			for _, d := range differences {
				a.printDifference(result.Name(d.Path), d)
			}
			if len(differences) > 0 {
				return errDiffers
			}
			return nil
		},
	})
}

// checkError is an error of a check: whether files differ is not known.
type checkError struct{ error }

func (e checkError) Unwrap() error { return e.error }

func (a *app) printDifference(name string, d generate.Difference) {
	switch d.Kind {
	case generate.Missing:
		fmt.Fprintf(a.stdout, "%s is missing\n", name)
	case generate.Stale:
		fmt.Fprintf(a.stdout, "%s is stale: nothing asks for it any more\n", name)
	default:
		a.stdout.Write(diff.Diff("a/"+name, d.Old, "b/"+name, d.New))
	}
}
