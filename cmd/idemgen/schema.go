package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/idemgen/idemgen/internal/spec"
	"github.com/idemgen/idemgen/queries"
)

// engines are what a ledger can be kept in.
var engines = []string{"sqlite", "postgres", "mysql"}

// schemaCommand prints the schema of a ledger as a migration.
func (a *app) schemaCommand() *cobra.Command {
	var form, table string
	c := &cobra.Command{
		Use:   "schema engine",
		Short: "Print the schema of a ledger as a migration",
		Long: `Schema prints the SQL that creates the tables of a ledger, for those who apply
schemas with a tool of their own; the engine is sqlite, postgres or mysql. The
ledger is then opened with WithSchemaManaged, which checks the schema and never
creates it.`,
		Example: `  idemgen schema postgres -form goose > migrations/00007_idempotency_keys.sql
  idemgen schema postgres -form up    > migrations/000007_idempotency_keys.up.sql
  idemgen schema postgres -form down  > migrations/000007_idempotency_keys.down.sql`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains(engines, args[0]) {
				return usageError{c.CommandPath(), fmt.Errorf("engine %q: want one of %s", args[0], strings.Join(engines, ", "))}
			}
			if err := spec.CheckTable(table, args[0]); err != nil {
				return usageError{c.CommandPath(), err}
			}
			text, err := queries.Migration(args[0], form, table)
			if err != nil {
				return usageError{c.CommandPath(), err}
			}
			_, err = fmt.Fprint(a.stdout, text)
			return err
		},
	}
	c.Flags().StringVar(&form, "form", "up", "`form`: up or down, as golang-migrate reads them, or goose")
	c.Flags().StringVar(&table, "table", "idempotency_keys", "`name` of the table, or schema.table")
	return c
}
