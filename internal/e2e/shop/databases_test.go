package shop_test

import (
	"fmt"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/servers"
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
}

var databases = []database{
	{"sqlite", func(t *testing.T) string { return filepath.Join(t.TempDir(), "orders.db") }},
	{"postgres", func(t *testing.T) string {
		name := newName()
		if err := postgres.Create(name); err != nil {
			t.Fatal(err)
		}
		return "postgres://postgres@/" + name + "?host=" + url.QueryEscape(postgres.Socket())
	}},
	{"mysql", func(t *testing.T) string {
		name := newName()
		if err := mariadb.Create(name); err != nil {
			t.Fatal(err)
		}
		return "mysql://root@/" + name + "?socket=" + url.QueryEscape(mariadb.Socket())
	}},
}

var names atomic.Int64

func newName() string { return fmt.Sprintf("shop_%d", names.Add(1)) }
