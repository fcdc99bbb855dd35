package module_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// orders is a package in several files that reads types of another module,
// example.com/shared, and of another package of its own.
var orders = map[string]string{
	"orders.go": `package orders

import (
	"context"
	"database/sql"

	"example.com/orders/parts"
	"example.com/shared"
)

//idem:api prefix=/v1
//idem:ledger
type Orders interface {
	// Create places an order.
	//
	//idem:endpoint POST /orders status=201
	Create(ctx context.Context, in CreateOrder) (*parts.Order, error)

	//idem:endpoint POST /orders/{id}/cancel
	Cancel(ctx context.Context, tx *sql.Tx, in CancelOrder) (*shared.Receipt, error)
}
`,
	"refunds.go": `package orders

import (
	"context"

	"example.com/orders/parts"
	"example.com/shared"
)

//idem:api prefix=/v2
type Refunds interface {
	//idem:endpoint POST /refunds
	Refund(ctx context.Context, in shared.Receipt) (parts.Order, error)
}
`,
	"create.go":      "package orders\n\ntype CreateOrder struct {\n\tSKU string `json:\"sku\"`\n}\n\nfunc (CreateOrder) Validate() error { return nil }\n",
	"cancel.go":      "package orders\n\ntype CancelOrder struct {\n\tID int64 `path:\"id\"`\n}\n",
	"parts/parts.go": "// Package parts has results.\npackage parts\n\ntype Order struct {\n\tID       int64  `json:\"id\"`\n\tLocation string `json:\"-\" header:\"Location\"`\n}\n",
}

var shared = map[string]string{
	"go.mod":    "module example.com/shared\n\ngo 1.26.0\n",
	"shared.go": "package shared\n\ntype Receipt struct {\n\tTotal int `json:\"total\"`\n}\n",
}

// TestReadOnlyModuleCache: generation takes what it needs from a module cache
// that nobody may write to, and leaves no trace in it. The permissions do not
// hold for the superuser; that nothing in the cache changes does.
func TestReadOnlyModuleCache(t *testing.T) {
	t.Parallel()
	m := published(t) // with a GOPATH's worth of modules of its own
	m.run(t, "go", "mod", "init", "example.com/orders")
	m.write(t, "orders.go", readmeFile(t, "orders.go"))
	m.run(t, "go", "get", "-tool", idemgenPath+"/cmd/idemgen")
	m.run(t, idemgen, "./...")
	want := m.output(t)
	cache := strings.TrimSpace(m.run(t, "go", "env", "GOMODCACHE"))

	chmod := func(and, or os.FileMode) {
		err := filepath.WalkDir(cache, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			return os.Chmod(path, info.Mode().Perm()&and|or)
		})
		if err != nil {
			t.Error(err)
		}
	}
	chmod(0o555, 0)
	defer chmod(0o777, 0o200) // for the test to clean up after itself
	before := listing(t, cache)
	m.clear(t)
	m = m.with("GOPROXY=off", "GOFLAGS=-mod=readonly -trimpath")
	m.run(t, idemgen, "./...")
	same(t, m.output(t), want)
	m.clear(t)
	m.run(t, "go", "tool", "idemgen", "./...")
	same(t, m.output(t), want)
	if after := listing(t, cache); after != before {
		t.Errorf("the module cache was\n%s\nand is\n%s", before, after)
	}
}

// listing is everything in a folder with size and time, one a line.
func listing(t *testing.T, folder string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			fmt.Fprintln(&b, path, info.Size(), info.ModTime())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// newOrders makes a module of the package orders, with the module shared beside
// it.
func newOrders(t *testing.T) module {
	t.Helper()
	m := newModule(t, orders)
	beside := module{t.TempDir(), m.env}
	beside.writeAll(t, shared)
	m.run(t, "go", "mod", "edit", "-require=example.com/shared@v0.0.0", "-replace=example.com/shared="+beside.dir)
	return m
}

// TestSettings: the output is the same bytes under every setting of the go
// command, and generation leaves go.mod alone.
//
// Origin: https://github.com/golang/mock/issues/415
// Origin: https://github.com/matryer/moq/blob/main/pkg/moq/moq_test.go
func TestSettings(t *testing.T) {
	t.Parallel()
	plain := newOrders(t)
	plain.run(t, idemgen, "./...")
	want := plain.output(t)
	plain.run(t, "go", "vet", "./...")

	again := func(t *testing.T, m module, name string, args ...string) {
		t.Helper()
		m.clear(t)
		before := m.read(t, "go.mod")
		for range 2 { // without output and with it
			if out := m.run(t, name, args...); out != "" {
				t.Errorf("%s %s says %s", name, strings.Join(args, " "), out)
			}
			same(t, m.output(t), want)
		}
		if after := m.read(t, "go.mod"); after != before {
			t.Errorf("generation changed go.mod to\n%s", after)
		}
	}

	t.Run("vendor", func(t *testing.T) {
		t.Parallel()
		m := newOrders(t)
		// The folder has what the source needs before there is output: not
		// even the runtime, but the tool.
		m.run(t, "go", "mod", "vendor")
		again(t, m, idemgen, "./...")
		// And with what the output needs.
		m.run(t, "go", "mod", "vendor")
		again(t, m, "go", "tool", "idemgen", "./...")
		again(t, m.with("GOFLAGS=-mod=vendor"), idemgen, "./...")
		m.run(t, "go", "build", "./...")
	})

	t.Run("workspace", func(t *testing.T) {
		t.Parallel()
		m := newOrders(t)
		m.run(t, "go", "mod", "edit", "-droprequire=example.com/shared", "-dropreplace=example.com/shared")
		workspace := module{t.TempDir(), m.with("GOWORK=").env}
		if err := os.Rename(m.dir, filepath.Join(workspace.dir, "orders")); err != nil {
			t.Fatal(err)
		}
		for name, content := range shared {
			workspace.write(t, "shared/"+name, content)
		}
		workspace.write(t, "go.work", "go 1.26.0\n\nuse (\n\t./orders\n\t./shared\n)\n")
		m = workspace.in("orders")
		again(t, m, idemgen, "./...")
		again(t, m, "go", "tool", "idemgen", "./...")
		m.clear(t)
		workspace.run(t, idemgen, "./orders/...", "./shared/...")
		same(t, m.output(t), want)
		workspace.run(t, "go", "build", "./orders/...")
	})

	t.Run("readonly", func(t *testing.T) {
		t.Parallel()
		m := newOrders(t).with("GOFLAGS=-mod=readonly")
		again(t, m, idemgen, "./...")
		again(t, m, "go", "tool", "idemgen", "./...")
	})

	t.Run("vendored workspace", func(t *testing.T) {
		t.Parallel()
		m := newOrders(t)
		workspace := module{t.TempDir(), m.with("GOWORK=").env}
		if err := os.Rename(m.dir, filepath.Join(workspace.dir, "orders")); err != nil {
			t.Fatal(err)
		}
		workspace.write(t, "go.work", "go 1.26.0\n\nuse ./orders\n")
		m = workspace.in("orders")
		again(t, m, idemgen, "./...") // so that the folder has what the output needs
		workspace.run(t, "go", "work", "vendor")
		again(t, m, idemgen, "./...")
		workspace.run(t, "go", "build", "./orders/...")
	})

	t.Run("GOFLAGS", func(t *testing.T) {
		t.Parallel()
		m := newOrders(t)
		for _, flags := range []string{"-trimpath", "-tags=netgo,extra", "-mod=mod -buildvcs=false -ldflags=-s", "-gcflags=-N", "-modcacherw"} {
			again(t, m.with("GOFLAGS="+flags), idemgen, "./...")
		}
	})

	t.Run("GOPATH", func(t *testing.T) {
		t.Parallel()
		m := newOrders(t)
		cache := strings.TrimSpace(m.run(t, "go", "env", "GOMODCACHE"))
		again(t, m.with("GOPATH="+t.TempDir(), "GOMODCACHE="+cache), idemgen, "./...")
	})

	t.Run("order of files", func(t *testing.T) {
		t.Parallel()
		m := newOrders(t)
		var names []string
		for name := range orders {
			names = append(names, name)
			if err := os.Remove(filepath.Join(m.dir, filepath.FromSlash(name))); err != nil {
				t.Fatal(err)
			}
		}
		// The order in which a folder lists its files is that of their making
		// on some file systems.
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			m.write(t, name, orders[name])
		}
		again(t, m, idemgen, "./...")
		again(t, m, idemgen, "./parts", ".")
		again(t, m, idemgen, "example.com/orders")
	})

	t.Run("other platform", func(t *testing.T) {
		t.Parallel()
		m := newOrders(t)
		again(t, m.with("GOOS=windows", "GOARCH=arm64", "CGO_ENABLED=0"), idemgen, "./...")
		again(t, m.with("LC_ALL=C", "TZ=Asia/Tokyo", "GOFLAGS=-mod=mod -race"), idemgen, "./...")
	})
}
