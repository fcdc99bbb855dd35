package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/idemgen/idemgen/internal/vet"
)

// vetCommand analyzes handlers.
func (a *app) vetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "vet [packages]",
		Short: "Find mistakes in handlers that the generator cannot see",
		Long: "Vet runs an analyzer over packages, to " + vet.Doc + `

It is an analyzer for go vet too, with caching and beside others:

  go vet -vettool=$(which idemgen) ./...
  go vet -vettool=$(go tool -n idemgen) ./...

It exits with 0 when nothing is found, 1 when something is, and 2 on any
trouble, such as a package that does not compile.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			stop := a.progress("analyzing", patterns)
			findings, err := vet.Run(cmd.Context(), vet.Config{Tool: self, Dir: a.dir, Tags: a.tags}, patterns...)
			stop()
			if err != nil {
				return err
			}
			for _, f := range findings {
				if a.json {
					a.printDiagnostic(diagnostic{File: f.File, Line: f.Line, Col: f.Col, Code: vet.Code(f.Category), Message: f.Message})
				} else {
					fmt.Fprintln(a.stderr, f)
				}
			}
			if len(findings) > 0 {
				return errFound
			}
			return nil
		},
	}
}

// errFound ends a vet that found something and has printed it.
var errFound = errors.New("mistakes found")
