package vet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
)

// inTests matches an error that go vet has met in a test file.
var inTests = regexp.MustCompile(`_test\.go:\d+`)

// vetWithoutTests runs go vet as if the packages had no test files. Where they
// cannot be listed, cause is what there is to say.
func (cfg Config) vetWithoutTests(ctx context.Context, dir string, patterns []string, cause error) ([]byte, error) {
	args := []string{"list", "-e", "-json=Dir,TestGoFiles,XTestGoFiles"}
	if cfg.Tags != "" {
		args = append(args, "-tags="+cfg.Tags)
	}
	listed, err := cfg.goCommand(ctx, dir, append(append(args, "--"), patterns...))
	if err != nil {
		return nil, cause
	}
	// A file that is replaced by "" is none, see "go help build".
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for decoder := json.NewDecoder(bytes.NewReader(listed)); ; {
		var p struct {
			Dir                       string
			TestGoFiles, XTestGoFiles []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, cause
		}
		for _, file := range append(p.TestGoFiles, p.XTestGoFiles...) {
			overlay.Replace[filepath.Join(p.Dir, file)] = ""
		}
	}
	folder, err := os.MkdirTemp("", "idemgen-vet-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	text, err := json.Marshal(overlay)
	if err != nil {
		return nil, err
	}
	name := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		return nil, err
	}
	return cfg.vet(ctx, dir, name, patterns)
}
