// Package document writes the tables of the documentation that tests make, so
// that what is written there is what was seen.
package document

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Table is a part of a document: inputs, and what came of each.
type Table struct {
	b                 strings.Builder
	accepted, refused int
}

// New returns an empty table.
func New() *Table { return &Table{} }

// Heading begins a group of inputs.
func (d *Table) Heading(title string) {
	fmt.Fprintf(&d.b, "\n## %s\n\n| input | answer |\n|---|---|\n", title)
}

// Accepted adds an input that was taken, and what it changes.
// The note says more.
func (d *Table) Accepted(input, note string, changes []string) {
	d.accepted++
	answer := "accepted"
	if note != "" {
		answer += ", " + text(note)
	}
	const most = 4
	if len(changes) > 0 {
		shown := changes[:min(most, len(changes))]
		answer += ": " + code(strings.Join(shown, "\n"))
		if len(changes) > most {
			answer += " and more"
		}
	}
	d.row(input, answer)
}

// Refused adds an input that was refused, and the messages.
func (d *Table) Refused(input string, messages []string) {
	d.refused++
	for i, message := range messages {
		messages[i] = text(message)
	}
	d.row(input, "**refused**: "+strings.Join(messages, "<br>"))
}

func (d *Table) row(input, answer string) {
	fmt.Fprintf(&d.b, "| %s | %s |\n", code(input), answer)
}

// code writes lines as code in a cell of a table.
func code(lines string) string {
	var cells []string
	for line := range strings.SplitSeq(lines, "\n") {
		line = strings.ReplaceAll(strings.ReplaceAll(line, "|", `\|`), "\t", " ")
		fence := "`"
		if strings.Contains(line, "`") {
			fence, line = "``", " "+line+" "
		}
		cells = append(cells, fence+line+fence)
	}
	return strings.Join(cells, "<br>")
}

// text writes a message in a cell of a table.
func text(message string) string {
	return strings.NewReplacer("\n\t", " ", "\n", " ", "|", `\|`, "*", `\*`, "<", "&lt;", "_", `\_`, "`", "\\`", "[", `\[`).Replace(message)
}

// Compare holds the table against the part of a document between the comments
// <!-- name --> and <!-- end of name -->, or writes it there.
func (d *Table) Compare(t *testing.T, file, name string, update bool) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	before, rest, found := strings.Cut(string(content), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no part %s", file, name)
	}
	want := fmt.Sprintf("%s%s\n%d inputs: %d accepted, %d refused.\n%s\n%s%s", before, begin, d.accepted+d.refused, d.accepted, d.refused, d.b.String(), end, after)
	if want == string(content) {
		return
	}
	if !update {
		t.Errorf("%s is not what was seen; run the test with -update, and read what changed", file)
		return
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
