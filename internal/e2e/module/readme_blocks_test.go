package module_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/process"
)

// block is a fenced block of the README that a comment above it names: a file,
// or commands to run.
type block struct{ kind, name, text string }

var blockStart = regexp.MustCompile("(?m)^<!-- (file|run): (\\S+) -->\n```[a-z]+\n")

// readme are the named blocks of the README, in order.
func readme(t *testing.T) []block {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(process.Root(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(content), "\r\n", "\n")
	var blocks []block
	for _, at := range blockStart.FindAllStringSubmatchIndex(text, -1) {
		body, _, closed := strings.Cut(text[at[1]:], "\n```\n")
		if !closed {
			t.Fatalf("README.md: the block after %s has no end", text[at[0]:at[1]])
		}
		blocks = append(blocks, block{text[at[2]:at[3]], text[at[4]:at[5]], body + "\n"})
	}
	return blocks
}

// readmeFile is a file of the README.
func readmeFile(t *testing.T, name string) string {
	t.Helper()
	for _, b := range readme(t) {
		if b.kind == "file" && b.name == name {
			return b.text
		}
	}
	t.Fatalf("README.md has no file %s", name)
	return ""
}

// shell are the commands of a block, with continued lines joined.
func (b block) shell() []string {
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(b.text, "\\\n", " ")), "\n")
}
