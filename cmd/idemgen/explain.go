package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/idemgen/idemgen/internal/explain"
	"github.com/idemgen/idemgen/internal/source"
	"github.com/idemgen/idemgen/internal/spec"
)

// explainCommand says what the annotations amount to.
func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [packages]",
		Short: "Say what each endpoint's policy is, and where each value comes from",
		Long: `Explain lists the endpoints, one on a line. With -v it gives each with its
effective policy, in the words of the directives, and where each value comes
from: the default, the profile, the interface or the method, with file and line.
It says what becomes of a request in every case, with its status, and puts lease
and deadline on one line.

With -json the report is one JSON document. It exits with 0 on success, 1 when
the sources break rules, and 2 on any other trouble.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			stop := a.progress("reading", patterns)
			packages, err := source.Load(cmd.Context(), a.config(), patterns...)
			stop()
			if err != nil {
				return err
			}
			report := explain.Explain(packages)
			if len(report.Packages) == 0 {
				return fmt.Errorf("no annotated interface in %s: an interface is annotated with //%s:api", named(patterns), spec.Tool)
			}
			switch {
			case !a.json && a.verbose:
				return report.WriteText(a.stdout)
			case !a.json:
				return report.WriteSummary(a.stdout)
			}
			encoder := json.NewEncoder(a.stdout)
			encoder.SetEscapeHTML(false)
			encoder.SetIndent("", "  ")
			return encoder.Encode(report)
		},
	}
}

// named is the patterns for messages.
func named(patterns []string) string {
	if len(patterns) == 0 {
		return "."
	}
	return strings.Join(patterns, " ")
}
