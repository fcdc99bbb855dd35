package source

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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
	remove = func() { os.RemoveAll(dir) }
	flag, err = writeOverlay(dir, masks)
	if err != nil {
		remove()
		return "", nil, err
	}
	return flag, remove, nil
}

// writeOverlay writes what replaces the masked files, each content once, and
// the list of the replacements.
func writeOverlay(dir string, masks map[string]mask) (flag string, err error) {
	written := map[string]string{}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
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
