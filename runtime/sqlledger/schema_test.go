package sqlledger_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/runtime/sqlledger"
)

var errNoTable = errors.New("no such table: idempotency_keys_schema")

var schema = []string{"CREATE TABLE a;", "CREATE TABLE b;"}

func TestSchemaThatStandsIsNotCreated(t *testing.T) {
	driver := &stub{}
	s := &statements{schema: schema, version: func() (int64, error) { return 1, nil }}
	if _, err := sqlledger.New(t.Context(), stubDB(t, driver), sqlledger.EngineSQLite, s); err != nil {
		t.Fatal(err)
	}
	if len(driver.executed) != 0 {
		t.Errorf("executed %q; want nothing", driver.executed)
	}
}

func TestSchemaIsCreated(t *testing.T) {
	driver := &stub{}
	s := &statements{schema: schema, version: func() (int64, error) {
		if len(driver.executed) < len(schema) {
			return 0, errNoTable
		}
		return 1, nil
	}}
	if _, err := sqlledger.New(t.Context(), stubDB(t, driver), sqlledger.EngineSQLite, s); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(driver.executed, schema) {
		t.Errorf("executed %q; want %q", driver.executed, schema)
	}
}

func TestSchemaThatCannotBeCreated(t *testing.T) {
	reason := errors.New("attempt to write a schema that is not yours")
	s := &statements{schema: schema, version: func() (int64, error) { return 0, errNoTable }}
	_, err := sqlledger.New(t.Context(), stubDB(t, &stub{err: reason}), sqlledger.EngineSQLite, s)
	if !errors.Is(err, reason) {
		t.Errorf("New = %v; want %v", err, reason)
	}
}

func TestManagedSchemaIsNotCreated(t *testing.T) {
	driver := &stub{}
	s := &statements{schema: schema, version: func() (int64, error) { return 0, errNoTable }}
	_, err := sqlledger.New(t.Context(), stubDB(t, driver), sqlledger.EngineSQLite, s, sqlledger.WithSchemaManaged())
	if !errors.Is(err, errNoTable) || strings.Contains(err.Error(), "created") || !strings.Contains(err.Error(), "your migrations") {
		t.Errorf("New = %v; want %v, and that a migration creates it", err, errNoTable)
	}
	if len(driver.executed) != 0 {
		t.Errorf("executed %q; want nothing", driver.executed)
	}
	s.version = func() (int64, error) { return 1, nil }
	if _, err := sqlledger.New(t.Context(), stubDB(t, driver), sqlledger.EngineSQLite, s, sqlledger.WithSchemaManaged()); err != nil {
		t.Errorf("New on a schema that stands: %v", err)
	}
}

func TestSchemaOfAnotherVersion(t *testing.T) {
	for _, opts := range [][]sqlledger.Option{nil, {sqlledger.WithSchemaManaged()}} {
		for _, version := range []int64{0, 2} {
			driver := &stub{}
			s := &statements{schema: schema, version: func() (int64, error) { return version, nil }}
			_, err := sqlledger.New(t.Context(), stubDB(t, driver), sqlledger.EngineSQLite, s, opts...)
			if err == nil || !strings.Contains(err.Error(), "has version "+string(rune('0'+version))) || !strings.Contains(err.Error(), "works with version 1") {
				t.Errorf("New on version %d: %v; want an error that names both versions", version, err)
			}
			if len(driver.executed) != 0 {
				t.Errorf("executed %q on version %d; want nothing", driver.executed, version)
			}
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	db := stubDB(t, &stub{})
	for name, err := range map[string]error{
		"nil database": second(sqlledger.New(t.Context(), nil, sqlledger.EngineSQLite, &statements{})),
		"nil reader":   second(sqlledger.New(t.Context(), db, sqlledger.EngineSQLite, &statements{}, sqlledger.WithReader(nil))),
		"no time":      second(sqlledger.New(t.Context(), db, sqlledger.EngineSQLite, &statements{}, sqlledger.WithTimeLimit(0))),
		"less time":    second(sqlledger.New(t.Context(), db, sqlledger.EngineSQLite, &statements{}, sqlledger.WithTimeLimit(-1))),
	} {
		if err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestSplitSchema(t *testing.T) {
	for _, c := range []struct {
		name, schema string
		want         []string
	}{
		{"nothing", "", nil},
		{"comments alone", "-- one\n\n  -- two;\n", nil},
		{"one line", "CREATE TABLE a (b);\n", []string{"CREATE TABLE a (b);\n"}},
		{"no newline at the end", "CREATE TABLE a (b);", []string{"CREATE TABLE a (b);\n"}},
		{"several lines", "CREATE TABLE a (\n  b, -- a column; c\n  c\n);\n\n-- more\nINSERT INTO a VALUES (1, 2);\n",
			[]string{"CREATE TABLE a (\nb,\nc\n);\n", "INSERT INTO a VALUES (1, 2);\n"}},
		{"lines of another system", "CREATE TABLE a (b);\r\nCREATE TABLE c (d);\r\n",
			[]string{"CREATE TABLE a (b);\n", "CREATE TABLE c (d);\n"}},
	} {
		if got := sqlledger.SplitSchema(c.schema); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q; want %q", c.name, got, c.want)
		}
	}
}
