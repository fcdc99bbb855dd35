package spec

import (
	"fmt"
	"regexp"
)

// tableForm is a table name: one or two lower-case identifiers.
var tableForm = regexp.MustCompile(`^([a-z_][a-z0-9_]*\.)?[a-z_][a-z0-9_]*$`)

// CheckTable checks the name of a ledger's table, or schema.table.
func CheckTable(name string) error {
	switch {
	case len(name) > 40:
		return fmt.Errorf("table %q has %d characters: at most 40", name, len(name))
	case !tableForm.MatchString(name):
		return fmt.Errorf("table %q is not an identifier: lower-case letters, digits and _, or schema.table", name)
	default:
		return nil
	}
}
