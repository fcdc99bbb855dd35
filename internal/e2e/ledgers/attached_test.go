package ledgers_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/ledgers/emitted/attached"
	"github.com/idemgen/idemgen/internal/e2e/ledgers/harness"
)

// A ledger in a database that every connection attaches, with a table name to
// fit: idem:ledger table=store.keys.
func TestAttached(t *testing.T) {
	harness.Run(t, "store.keys", attached.Open, func(t *testing.T, file string) harness.Pools {
		db := sql.OpenDB(onConnect{
			driver: driverOf(t, mattn), dsn: mattnDSN(file),
			statements: []string{"ATTACH DATABASE '" + strings.ReplaceAll(file, "'", "''") + ".store' AS store"},
		})
		return harness.Own(t, db, 1)
	})
}

// Where the schema of the table is not attached, the ledger says so at its
// start.
func TestNotAttached(t *testing.T) {
	db := harness.File(t, modernc, t.TempDir()+"/ledger.db")
	_, err := attached.Open(t.Context(), db.Writer)
	if err == nil || !strings.Contains(err.Error(), "store") {
		t.Errorf("Open without the attached database: %v; want an error that names it", err)
	}
}

// onConnect is a connector that runs statements on each new connection.
type onConnect struct {
	driver     driver.Driver
	dsn        string
	statements []string
}

func (c onConnect) Driver() driver.Driver { return c.driver }

func (c onConnect) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	for _, statement := range c.statements {
		if _, err := conn.(driver.ExecerContext).ExecContext(ctx, statement, nil); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}

func driverOf(t testing.TB, name string) driver.Driver {
	t.Helper()
	db, err := sql.Open(name, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return db.Driver()
}
