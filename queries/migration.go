package queries

import (
	"fmt"
	"strings"
)

// Forms are the forms of a migration that creates a ledger's schema.
var Forms = []string{"up", "down", "goose"}

// Migration is a migration that creates the schema of a ledger, for those who
// apply schemas with a tool of their own. The form is up or down, plain SQL as
// golang-migrate reads it from two files, or goose, one file with both. The
// engine and the table are those of [Emit].
func Migration(engine, form, tableName string) (string, error) {
	k, ok := kinds[[2]string{engine, "sql"}]
	if !ok {
		return "", fmt.Errorf("there is no ledger for engine %q", engine)
	}
	text, err := files.ReadFile(k.engine + "/schema.sql")
	if err != nil {
		return "", err
	}
	up := renamer(engine, tableName).Replace(strings.ReplaceAll(string(text), "\r\n", "\n"))
	down := "DROP TABLE " + tableName + ";\nDROP TABLE " + tableName + "_schema;\n"
	switch form {
	case "up":
		return up, nil
	case "down":
		return down, nil
	case "goose":
		return "-- +goose Up\n" + up + "\n-- +goose Down\n" + down, nil
	}
	return "", fmt.Errorf("there is no form %q: want one of %s", form, strings.Join(Forms, ", "))
}
