package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionCommand says which idemgen this is. Generated files do not: equal
// sources give equal bytes, whoever generates.
func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			version, goVersion := "(unknown)", "an unknown Go"
			if info, ok := debug.ReadBuildInfo(); ok {
				goVersion = info.GoVersion
				if info.Main.Version != "" {
					version = info.Main.Version
				}
			}
			fmt.Fprintf(a.stdout, "idemgen %s, built with %s\n", version, goVersion)
			return nil
		},
	}
}
