// Package migrations_test applies ledgers' schemas with the tools that apply
// migrations, and opens the ledgers on what they made.
package migrations_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/golang-migrate/migrate/v4"
	migrator "github.com/golang-migrate/migrate/v4/database"
	migratemysql "github.com/golang-migrate/migrate/v4/database/mysql"
	migratepgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	migratesqlite "github.com/golang-migrate/migrate/v4/database/sqlite"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/pressly/goose/v3"

	"github.com/idemgen/idemgen/example/store"
	"github.com/idemgen/idemgen/prove/servers"
	"github.com/idemgen/idemgen/queries"
	"github.com/idemgen/idemgen/runtime/sqlledger"
)

var (
	postgres *servers.Postgres
	mariadb  *servers.MariaDB
)

func TestMain(m *testing.M) {
	if os.Getenv(attackerTask) != "" {
		os.Exit(attack())
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if postgres, err = servers.StartPostgres(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer postgres.Stop()
	if mariadb, err = servers.StartMariaDB(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer mariadb.Stop()
	return m.Run()
}

var names atomic.Int64

// database is one engine, as both tools know it.
type database struct {
	engine  string
	dialect goose.Dialect
	migrate func(*sql.DB) (migrator.Driver, error)
	// create makes an empty database: a pool for the tools, and its name for
	// the shop.
	create func(t *testing.T) (*sql.DB, string)
}

var databases = []database{
	{
		"sqlite", goose.DialectSQLite3,
		func(db *sql.DB) (migrator.Driver, error) {
			return migratesqlite.WithInstance(db, &migratesqlite.Config{})
		},
		func(t *testing.T) (*sql.DB, string) {
			file := filepath.Join(t.TempDir(), "keys.db")
			return open(t, "sqlite", file), file
		},
	},
	{
		"postgres", goose.DialectPostgres,
		func(db *sql.DB) (migrator.Driver, error) { return migratepgx.WithInstance(db, &migratepgx.Config{}) },
		func(t *testing.T) (*sql.DB, string) {
			name := fmt.Sprintf("migrated_%d", names.Add(1))
			if err := postgres.Create(name); err != nil {
				t.Fatal(err)
			}
			return open(t, "pgx", postgres.DSN(name)), postgres.URL(name)
		},
	},
	{
		"mysql", goose.DialectMySQL,
		func(db *sql.DB) (migrator.Driver, error) {
			return migratemysql.WithInstance(db, &migratemysql.Config{})
		},
		func(t *testing.T) (*sql.DB, string) {
			name := fmt.Sprintf("migrated_%d", names.Add(1))
			if err := mariadb.Create(name); err != nil {
				t.Fatal(err)
			}
			return open(t, "mysql", mariadb.DSN(name, "multiStatements=true")), mariadb.URL("", name)
		},
	},
}

func open(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestGoose(t *testing.T) {
	for _, d := range databases {
		t.Run(d.engine, func(t *testing.T) {
			db, name := d.create(t)
			files := fstest.MapFS{"00001_idempotency_keys.sql": {Data: migration(t, d.engine, "goose")}}
			provider, err := goose.NewProvider(d.dialect, db, files)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := provider.Up(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantLedger(t, name, true)
			if _, err := provider.Down(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantLedger(t, name, false)
		})
	}
}

func TestGolangMigrate(t *testing.T) {
	for _, d := range databases {
		t.Run(d.engine, func(t *testing.T) {
			db, name := d.create(t)
			source, err := iofs.New(fstest.MapFS{
				"000001_idempotency_keys.up.sql":   {Data: migration(t, d.engine, "up")},
				"000001_idempotency_keys.down.sql": {Data: migration(t, d.engine, "down")},
			}, ".")
			if err != nil {
				t.Fatal(err)
			}
			driver, err := d.migrate(db)
			if err != nil {
				t.Fatal(err)
			}
			m, err := migrate.NewWithInstance("iofs", source, d.engine, driver)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { m.Close() })
			if err := m.Up(); err != nil {
				t.Fatal(err)
			}
			wantLedger(t, name, true)
			if err := m.Down(); err != nil {
				t.Fatal(err)
			}
			wantLedger(t, name, false)
		})
	}
}

func migration(t *testing.T, engine, form string) []byte {
	t.Helper()
	text, err := queries.Migration(engine, form, "idempotency_keys")
	if err != nil {
		t.Fatal(err)
	}
	return []byte(text)
}

// wantLedger opens the ledger on the schema as it stands, which must be there
// or not.
func wantLedger(t *testing.T, name string, there bool) {
	t.Helper()
	s, err := store.Open(t.Context(), name, sqlledger.WithSchemaManaged())
	if (err == nil) != there {
		t.Fatalf("a managed schema that is there (%v) gives %v", there, err)
	}
	if err == nil {
		s.Close()
	}
}
