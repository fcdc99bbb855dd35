package sqlledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"slices"
	"sync/atomic"
)

// reading runs reads whose context counts until they have a connection, where
// they may wait long. From then on they wait for nobody, see inWAL, and take
// microseconds, while database/sql and drivers start goroutines for a
// statement that may have to be interrupted, which cost as much as the read.
type reading struct{ DBTX }

// QueryRowContext implements [DBTX].
func (r reading) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if len(args) > 0 {
		c := &connecting{Context: ctx}
		args = slices.Clone(args)
		args[0] = announcing{args[0], c}
		ctx = c
	}
	return r.DBTX.QueryRowContext(ctx, query, args...)
}

// connecting is a context that does not end once there is a connection.
type connecting struct {
	context.Context
	connected atomic.Bool
}

// Done implements [context.Context].
func (c *connecting) Done() <-chan struct{} {
	if c.connected.Load() {
		return nil
	}
	return c.Context.Done()
}

// announcing is an argument that tells when it is converted: the connection
// does that, so there is one.
type announcing struct {
	value any
	to    *connecting
}

// Value implements [driver.Valuer].
func (a announcing) Value() (driver.Value, error) {
	a.to.connected.Store(true)
	return driver.DefaultParameterConverter.ConvertValue(a.value)
}

// inWAL reports whether all files of a connection are in WAL mode, where
// readers wait for no writer. The mode is a property of the files.
func inWAL(ctx context.Context, db *sql.DB) bool {
	conn, err := db.Conn(ctx)
	if err != nil {
		return false
	}
	defer conn.Close()
	files, err := namesOf(ctx, conn, `SELECT name FROM pragma_database_list WHERE name <> 'temp'`)
	if err != nil {
		return false
	}
	for _, file := range files {
		modes, err := namesOf(ctx, conn, journalMode(file))
		if err != nil || !slices.Equal(modes, []string{"wal"}) {
			return false
		}
	}
	return len(files) > 0
}

func namesOf(ctx context.Context, conn *sql.Conn, query string) (names []string, err error) {
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}
