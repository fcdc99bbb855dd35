package module_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/process"
)

// shapes is an interface of every method shape, with inputs and results of
// every kind.
const shapes = `// Package shapes has all method shapes.
package shapes

import (
	"context"
	"database/sql"
	"net/http"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// ID is a named type.
type ID string

// Everything is an input from everywhere.
type Everything struct {
	ID      ID        ` + "`json:\"-\" path:\"id\"`" + `
	At      time.Time ` + "`json:\"-\" query:\"at\"`" + `
	Count   uint8     ` + "`json:\"-\" query:\"count\"`" + `
	Weight  float32   ` + "`json:\"-\" query:\"weight\"`" + `
	DryRun  *bool     ` + "`json:\"-\" query:\"dry_run\"`" + `
	Tags    []string  ` + "`json:\"-\" query:\"tag\"`" + `
	Version string    ` + "`json:\"-\" header:\"X-Api-Version\"`" + `
	Name    string    ` + "`json:\"name\"`" + `
}

// Validate accepts everything.
func (in *Everything) Validate() error { return nil }

// Body is an input from the body alone.
type Body struct {
	Reason string ` + "`json:\"reason\"`" + `
}

// Result has a body and headers.
type Result struct {
	ID       ID        ` + "`json:\"id\"`" + `
	Location string    ` + "`json:\"-\" header:\"Location\"`" + `
	ETag     *string   ` + "`json:\"-\" header:\"Etag\"`" + `
	Links    []string  ` + "`json:\"-\" header:\"Link\"`" + `
	Expires  time.Time ` + "`json:\"-\" header:\"X-Expires\"`" + `
}

// Shapes has all of them.
//
//idem:api prefix=/v1
//idem:ledger
//idem:fingerprint Content-Type X-Api-Version
//idem:response replay=Content-Type,Location,Etag,Link,X-Expires
type Shapes interface {
	// Typed takes and gives.
	//
	//idem:endpoint POST /typed/{id} status=201
	Typed(ctx context.Context, in Everything) (*Result, error)

	//idem:endpoint POST /pointer/{id}
	Pointer(ctx context.Context, in *Everything) (Result, error)

	//idem:endpoint POST /in status=202
	In(ctx context.Context, in Body) error

	//idem:endpoint POST /out status=303
	Out(ctx context.Context) (Result, error)

	//idem:endpoint DELETE /neither
	Neither(ctx context.Context) error

	//idem:endpoint POST /tx/{id}
	Tx(ctx context.Context, tx *sql.Tx, in Everything) (*Result, error)

	//idem:endpoint POST /tx-in
	TxIn(ctx context.Context, tx *sql.Tx, in *Body) error

	//idem:endpoint POST /tx-out
	TxOut(ctx context.Context, tx *sql.Tx) (*Body, error)

	//idem:endpoint POST /tx-neither
	TxNeither(ctx context.Context, tx *sql.Tx) error

	//idem:endpoint PUT /raw/{id}
	//idem:key optional syntax=sf
	//idem:on mismatch=409 failure=hold
	Raw(ctx context.Context, r *runtime.Request) (*runtime.Response, error)

	//idem:endpoint POST /standard/{rest...}
	//idem:retain 48h gone=24h sweep=5
	Standard(w http.ResponseWriter, r *http.Request)
}

// Plain has no ledger, so that it takes any.
//
//idem:api prefix=/plain profile=ietf
type Plain interface {
	//idem:endpoint PATCH /plain
	//idem:fingerprint none body=json
	Plain(ctx context.Context, in Body) (*Body, error)
}
`

// TestLint: neither go vet nor staticcheck has anything to say about generated
// code. Staticcheck passes over files that are marked as generated, except for
// what would be a bug, so that the marks are taken off, too.
//
// Origin: https://github.com/golangci/golangci-lint/issues/2864
func TestLint(t *testing.T) {
	t.Parallel()
	staticcheck := os.Getenv("STATICCHECK")
	if staticcheck == "" {
		staticcheck = filepath.Join(t.TempDir(), "staticcheck")
		tools := module{filepath.Join(process.Root(t), "internal", "tools"), process.Env()}
		tools.run(t, "go", "build", "-o", staticcheck, "honnef.co/go/tools/cmd/staticcheck")
	}

	m := newModule(t, map[string]string{"shapes/shapes.go": shapes})
	m.run(t, idemgen, "./...")
	m.run(t, "go", "vet", "./...")
	m.run(t, staticcheck, "./...")
	for name, content := range m.output(t) {
		if strings.HasSuffix(name, ".go") {
			_, code, _ := strings.Cut(content, "\n")
			m.write(t, name, code)
		}
	}
	m.run(t, staticcheck, "./...")

	example := module{filepath.Join(process.Root(t), "example"), m.env}
	example.run(t, "go", "vet", "./...")
	example.run(t, staticcheck, "./...")
}
