package templates

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"
)

// commentWidth is the width of wrapped comments, slashes included.
const commentWidth = 79

// comment makes a comment of a text, wrapped. Lines that begin with a tab are
// code and stay as they are; blank lines separate paragraphs.
func comment(format string, args ...any) jen.Code {
	var lines []string
	for paragraph := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
		if strings.HasPrefix(paragraph, "\t") {
			lines = append(lines, paragraph)
			continue
		}
		lines = append(lines, wrap(paragraph, commentWidth-len("// "))...)
	}
	return commentLines(lines)
}

// wrap breaks a text at spaces into lines of at most width runes, longer words
// aside. An empty text is one empty line.
func wrap(text string, width int) []string {
	lines := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case len([]rune(*last))+1+len([]rune(word)) <= width:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// commentLines makes a comment of lines. Package jen would write a text of
// several lines as a block comment, unless it begins with slashes.
func commentLines(lines []string) jen.Code {
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("//")
		if line = strings.TrimRight(line, " \t\r"); line == "" {
			continue
		}
		if !strings.HasPrefix(line, "\t") {
			b.WriteByte(' ')
		}
		b.WriteString(line)
	}
	return jen.Comment(b.String())
}

// docLines are the lines of a doc comment that the user wrote.
func docLines(doc string) []string {
	doc = strings.TrimSpace(strings.ReplaceAll(doc, "\r\n", "\n"))
	if doc == "" {
		return nil
	}
	return strings.Split(doc, "\n")
}
