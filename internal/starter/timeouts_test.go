package starter

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What people copy serves with every timeout: a client that sends or reads
// slowly must not hold a connection for ever.
func TestServersHaveAllTimeouts(t *testing.T) {
	root := filepath.Join("..", "..")
	servers := 0
	for _, place := range []string{"README.md", "docs", "example", filepath.Join("internal", "starter", "files")} {
		err := filepath.WalkDir(filepath.Join(root, place), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(name, "_test.go") {
				return err
			}
			switch filepath.Ext(name) {
			case ".md", ".go", ".tmpl":
			default:
				return nil
			}
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			if bare := regexp.MustCompile(`http\.(Serve|ListenAndServe)(TLS)?\(`).Find(text); bare != nil {
				t.Errorf("%s: %s...) has no timeouts", name, bare)
			}
			for _, literal := range regexp.MustCompile(`(?s)http\.Server\{.*?\n?[^\n]*\}`).FindAllString(string(text), -1) {
				servers++
				for _, field := range []string{"ReadHeaderTimeout", "ReadTimeout", "WriteTimeout", "IdleTimeout"} {
					if !strings.Contains(literal, field) {
						t.Errorf("%s: a server has no %s", name, field)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if servers < 4 {
		t.Errorf("%d servers were found; want those of README, starter and example", servers)
	}
}
