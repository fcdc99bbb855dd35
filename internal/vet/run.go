package vet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/idemgen/idemgen/internal/source"
)

// Config says how packages are analyzed.
type Config struct {
	// Tool is the program to run for each package: one that calls Unit.
	Tool string
	// Dir is the working directory: patterns and positions are relative to it.
	Dir string
	// Tags are the build tags, separated by commas.
	Tags string
	// Env is the environment of the go command; nil means the process's own.
	Env []string
}

// Finding is one mistake.
type Finding struct {
	File      string // relative to Dir and in slash form, or absolute
	Line, Col int
	Category  string
	Message   string
}

func (f Finding) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Col, f.Message)
}

// Run analyzes the packages that match the patterns (none means "."). It has
// go vet do the work, which analyzes dependencies first, several packages at a
// time, and remembers what has not changed.
func Run(ctx context.Context, cfg Config, patterns ...string) ([]Finding, error) {
	dir, err := source.WorkingDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	stdout, err := cfg.vet(ctx, dir, "", patterns)
	if err != nil && ctx.Err() == nil && inTests.MatchString(err.Error()) {
		// Handlers do not stand in test files: what those import need not be there.
		stdout, err = cfg.vetWithoutTests(ctx, dir, patterns, err)
	}
	if err != nil {
		return nil, err
	}
	findings, err := readFindings(bytes.NewReader(stdout), dir)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col), cmp.Compare(a.Message, b.Message))
	})
	// A package and its variant for tests say the same.
	return slices.Compact(findings), nil
}

// vet runs go vet and returns what it printed.
func (cfg Config) vet(ctx context.Context, dir, overlay string, patterns []string) ([]byte, error) {
	args := []string{"vet", "-vettool=" + cfg.Tool, "-json"}
	if cfg.Tags != "" {
		args = append(args, "-tags="+cfg.Tags)
	}
	if overlay != "" {
		args = append(args, "-overlay="+overlay)
	}
	return cfg.goCommand(ctx, dir, append(append(args, "--"), patterns...))
}

// goCommand runs the go command; its error is what that said.
func (cfg Config) goCommand(ctx context.Context, dir string, args []string) ([]byte, error) {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir, command.Env = dir, append(source.Environment(cfg.Env), "PWD="+dir)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if text := strings.TrimSpace(withoutHeads(stderr.String())); text != "" {
			return nil, errors.New(text)
		}
		return nil, fmt.Errorf("go %s: %w", args[0], err)
	}
	return stdout.Bytes(), nil
}

// withoutHeads drops the lines that name the package before what is said of
// it.
func withoutHeads(output string) string {
	var b strings.Builder
	for line := range strings.Lines(output) {
		if !strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// readFindings reads what go vet prints: one document per package, by package
// and analyzer.
func readFindings(output io.Reader, dir string) ([]Finding, error) {
	var findings []Finding
	decoder := json.NewDecoder(output)
	for {
		var unit map[string]map[string]json.RawMessage
		err := decoder.Decode(&unit)
		if errors.Is(err, io.EOF) {
			return findings, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading what go vet printed: %w", err)
		}
		for path, analyzers := range unit {
			for _, result := range analyzers {
				var diagnostics []struct{ Category, Posn, Message string }
				if err := json.Unmarshal(result, &diagnostics); err != nil {
					return nil, fmt.Errorf("%s: go vet: %s", path, result)
				}
				for _, d := range diagnostics {
					f := Finding{Category: d.Category, Message: d.Message}
					f.File, f.Line, f.Col = splitPosition(d.Posn)
					f.File = shortName(dir, f.File)
					findings = append(findings, f)
				}
			}
		}
	}
}

// splitPosition splits file:line:col from behind, since a file's name may have
// colons.
func splitPosition(posn string) (file string, line, col int) {
	numbers := [2]int{}
	for i := range numbers {
		colon := strings.LastIndexByte(posn, ':')
		if colon < 0 {
			break
		}
		n, err := strconv.Atoi(posn[colon+1:])
		if err != nil {
			break
		}
		numbers[i], posn = n, posn[:colon]
	}
	return posn, numbers[1], numbers[0]
}

// shortName is a file's name for readers.
func shortName(dir, file string) string {
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	relative, err := filepath.Rel(dir, file)
	if err == nil && filepath.IsLocal(relative) {
		file = relative
	}
	return filepath.ToSlash(file)
}
