package shop_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/process"
	"github.com/idemgen/idemgen/prove/servers"
)

// The servers live as long as the tests.
var (
	postgres *servers.Postgres
	mariadb  *servers.MariaDB
)

// database is a kind that the shop runs on. create makes an empty one and
// returns what -db is to say.
type database struct {
	name   string
	create func(t *testing.T) string
	// apart makes every write a commit of its own.
	apart bool
}

// Through database/sql only SQLite shares commits; the servers commit apart in
// any case.
var databases = []database{
	sqliteShared, sqliteApart,
	{name: "postgres", create: func(t *testing.T) string {
		name := newName()
		if err := postgres.Create(name); err != nil {
			t.Fatal(err)
		}
		return postgres.URL(name)
	}},
	{name: "mysql", create: func(t *testing.T) string {
		name := newName()
		if err := mariadb.Create(name); err != nil {
			t.Fatal(err)
		}
		return mariadb.URL("", name)
	}},
}

var (
	sqliteShared = database{name: "sqlite", create: newFile}
	sqliteApart  = database{name: "sqlite-apart", create: newFile, apart: true}
)

func newFile(t *testing.T) string { return filepath.Join(t.TempDir(), "orders.db") }

// start starts the shop on a database of this kind.
func (d database) start(t *testing.T, db string, extra ...string) *process.Server {
	t.Helper()
	return process.StartWith(t, []string{"DATABASE_URL=" + db}, binary, append([]string{"-addr", "127.0.0.1:0", "-simulate", fmt.Sprintf("-shared-commits=%v", !d.apart)}, extra...)...)
}

var names atomic.Int64

func newName() string { return fmt.Sprintf("shop_%d", names.Add(1)) }
