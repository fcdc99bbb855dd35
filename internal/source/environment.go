package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// environment is what the go command is run with.
type environment struct {
	env []string
	// flags are those of GOFLAGS that cannot stay there: package packages runs
	// the go command outside module mode too, which refuses -modfile, and its
	// own overlay would hide the user's.
	flags []string
	// overlay is what stands for files by the user's own -overlay, by absolute
	// path; a file that it takes away has nil.
	overlay map[string][]byte
	// goroot is where the standard library lies.
	goroot string
}

// newEnvironment reads what the go command in a folder would use.
func newEnvironment(ctx context.Context, dir string, env []string) (*environment, error) {
	if env == nil {
		env = os.Environ()
	}
	e := &environment{env: absoluteTemporary(env)}
	text, err := e.output(ctx, dir, "env", "-json", "GOFLAGS", "GOROOT")
	if err != nil {
		return nil, err
	}
	var settings struct{ GOFLAGS, GOROOT string }
	if err := json.Unmarshal(text, &settings); err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	e.goroot = settings.GOROOT
	var kept []string
	for _, flag := range splitFlags(settings.GOFLAGS) {
		name, value, _ := strings.Cut(strings.TrimPrefix(flag.text, "-"), "=")
		switch name {
		case "-modfile", "modfile":
			e.flags = append(e.flags, "-modfile="+absolute(dir, value))
		case "-overlay", "overlay":
			if e.overlay, err = readOverlay(dir, value); err != nil {
				return nil, err
			}
		default:
			kept = append(kept, flag.written)
		}
	}
	if len(e.flags) > 0 || e.overlay != nil {
		e.env = append(e.env, "GOFLAGS="+strings.Join(kept, " "))
	}
	return e, nil
}

// output runs the go command and returns what it prints.
func (e *environment) output(ctx context.Context, dir string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = dir
	command.Env = append(e.env[:len(e.env):len(e.env)], "PWD="+dir)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	text, err := command.Output()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if reason := strings.TrimSpace(stderr.String()); err != nil && reason != "" {
		return nil, errors.New(reason)
	}
	return text, err
}

// Environment is an environment for a go command that runs in another folder
// than this process: what names the folder of temporary files is absolute in
// it. A nil env is the process's own.
func Environment(env []string) []string {
	if env == nil {
		env = os.Environ()
	}
	return absoluteTemporary(env)
}

// absoluteTemporary adds absolute values for the variables that name the folder
// of temporary files relative to this process.
func absoluteTemporary(env []string) []string {
	env = env[:len(env):len(env)]
	for _, name := range []string{"TMPDIR", "GOTMPDIR", "TMP", "TEMP"} {
		value := ""
		for _, entry := range env {
			if text, ok := strings.CutPrefix(entry, name+"="); ok {
				value = text
			}
		}
		if value == "" || filepath.IsAbs(value) {
			continue
		}
		if path, err := filepath.Abs(value); err == nil {
			env = append(env, name+"="+path)
		}
	}
	return env
}

// absolute is a path that is relative to dir.
func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// flagText is one flag of GOFLAGS: as it was written, and without quotes.
type flagText struct{ written, text string }

// splitFlags splits GOFLAGS as the go command does: at spaces, and a flag that
// begins with a quote ends with it.
func splitFlags(text string) []flagText {
	var flags []flagText
	for {
		text = strings.TrimLeft(text, " \t\r\n")
		if text == "" {
			return flags
		}
		if quote := text[0]; quote == '\'' || quote == '"' {
			if end := strings.IndexByte(text[1:], quote); end >= 0 {
				flags = append(flags, flagText{text[:end+2], text[1 : end+1]})
				text = text[end+2:]
				continue
			}
		}
		end := strings.IndexAny(text, " \t\r\n")
		if end < 0 {
			end = len(text)
		}
		flags = append(flags, flagText{text[:end], text[:end]})
		text = text[end:]
	}
}
