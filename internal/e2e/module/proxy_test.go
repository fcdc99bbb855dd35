package module_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/process"
)

// proxy is a Go module proxy on which this work tree is the release v0.1.0 of
// idemgen and of the command prove. The other modules come from the machine's module cache.
type proxy struct {
	release map[string][]byte // by path
	cache   string
	pinned  map[string]string // versions in the example's go.mod
}

// published is a module in a world where idemgen is released, so that commands
// of the README run as they stand. The world has a module cache of its own: in
// the one that all share the release would be taken for immutable.
func published(t *testing.T) module {
	t.Helper()
	root, m := process.Root(t), emptyModule(t)
	p := &proxy{pinned: map[string]string{}}
	p.cache = filepath.Join(strings.TrimSpace(m.run(t, "go", "env", "GOMODCACHE")), "cache", "download")
	for _, r := range (module{filepath.Join(root, "example"), m.env}).requirements(t) {
		p.pinned[r.Path] = r.Version
	}
	const version = "v0.1.0"
	p.release = map[string][]byte{}
	for path, folder := range map[string]string{idemgenPath: root, idemgenPath + "/prove": filepath.Join(root, "prove")} {
		goMod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		p.release["/"+path+"/@v/list"] = []byte(version + "\n")
		p.release["/"+path+"/@v/"+version+".info"] = info(version)
		p.release["/"+path+"/@v/"+version+".mod"] = goMod
		p.release["/"+path+"/@v/"+version+".zip"] = zipped(t, folder, path+"@"+version)
	}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return m.with(
		"GOPROXY="+server.URL,
		"GOMODCACHE="+filepath.Join(t.TempDir(), "mod"),
		// Without -modcacherw the test could not remove the module cache, and
		// without -trimpath the build cache, which is shared, would not know
		// the packages again.
		"GOFLAGS=-modcacherw -trimpath",
	)
}

func info(version string) []byte {
	return fmt.Appendf(nil, `{"Version":%q,"Time":"2026-01-01T00:00:00Z"}`, version)
}

// ServeHTTP answers requests of the protocol that go help goproxy describes.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if content, found := p.release[r.URL.Path]; found {
		w.Write(content)
		return
	}
	module, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/@v/")
	if name == "list" {
		// What the cache has of newer versions may be a part of them.
		fmt.Fprintln(w, p.pinned[module])
		return
	}
	file := filepath.Join(p.cache, filepath.FromSlash(r.URL.Path))
	if version, found := strings.CutSuffix(name, ".info"); found {
		// Builds leave no such files in the cache.
		if _, err := os.Stat(strings.TrimSuffix(file, ".info") + ".mod"); err == nil {
			w.Write(info(version))
			return
		}
	}
	http.ServeFile(w, r, file)
}

// zipped is the zip file of a module, without the modules inside it.
func zipped(t *testing.T, root, prefix string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		if entry.IsDir() {
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if err == nil || strings.HasPrefix(entry.Name(), ".") {
				return filepath.SkipDir
			}
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil || strings.HasPrefix(name, ".") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := w.Create(prefix + "/" + filepath.ToSlash(name))
		if err != nil {
			return err
		}
		_, err = file.Write(content)
		return err
	})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
