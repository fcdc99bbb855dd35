package source

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/idemgen/idemgen/internal/regular"
)

// overlayFlag writes an overlay for the go command into a folder of its own, and
// returns the flag that names it and a function that removes the folder.
// Package packages has overlays too, but in their presence it trusts no export
// data, and reads the sources of all dependencies instead: six times the time
// and the memory.
func overlayFlag(masks map[string]mask) (flag string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "idemgen-")
	if err != nil {
		return "", nil, err
	}
	// The go command runs in another folder, and the name may be relative.
	if dir, err = filepath.Abs(dir); err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	flag, err = writeOverlay(dir, masks)
	if err != nil {
		remove()
		return "", nil, err
	}
	return flag, remove, nil
}

// overlayList is the file that the flag -overlay names.
type overlayList struct{ Replace map[string]string }

// writeOverlay writes what replaces the masked files, each content once, and
// the list of the replacements.
func writeOverlay(dir string, masks map[string]mask) (flag string, err error) {
	written := map[string]string{}
	overlay := overlayList{map[string]string{}}
	for file, m := range masks {
		content := string(m.content)
		switch {
		case m.absent:
			overlay.Replace[file] = ""
			continue
		case written[content] == "":
			replacement := filepath.Join(dir, fmt.Sprintf("%d.go", len(written)))
			if err := os.WriteFile(replacement, m.content, 0o600); err != nil {
				return "", err
			}
			written[content] = replacement
		}
		overlay.Replace[file] = written[content]
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	return "-overlay=" + list, os.WriteFile(list, text, 0o600)
}

// readOverlay reads the overlay that the user's GOFLAGS name. Paths in it are
// relative to the folder that the go command runs in.
func readOverlay(dir, list string) (map[string][]byte, error) {
	text, err := regular.ReadFile(absolute(dir, list))
	if err != nil {
		return nil, fmt.Errorf("reading the overlay that GOFLAGS names: %w", err)
	}
	var listed overlayList
	if err := json.Unmarshal(text, &listed); err != nil {
		return nil, fmt.Errorf("reading the overlay that GOFLAGS names: %s: %w", list, err)
	}
	overlay := map[string][]byte{}
	for file, replacement := range listed.Replace {
		var content []byte
		if replacement != "" {
			if content, err = regular.ReadFile(absolute(dir, replacement)); err != nil {
				return nil, fmt.Errorf("reading the overlay that GOFLAGS names: %w", err)
			}
		}
		overlay[absolute(dir, file)] = content
	}
	return overlay, nil
}

// mergedOverlay is the user's overlay with our masks, in the form of package
// packages. That costs the export data, but only so are files read that are not
// on disk at all. It cannot take files away: what the build leaves out stands
// for those.
func mergedOverlay(users map[string][]byte, masks map[string]mask) map[string][]byte {
	merged := map[string][]byte{}
	for file, content := range users {
		if content == nil {
			content = []byte("//go:build ignore\n\npackage ignored\n")
		}
		merged[file] = content
	}
	for file, m := range masks {
		merged[file] = m.content
	}
	return merged
}
