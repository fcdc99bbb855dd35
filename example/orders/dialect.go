package orders

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
)

// Dialect is what the shop's SQL differs in between databases.
type Dialect struct {
	serial   string // type of a primary key that counts by itself
	bytes    string // type of bytes
	numbered bool   // parameters are $1, $2 instead of ?
	returns  bool   // an INSERT tells the new key by RETURNING
}

// The databases that the shop runs on.
var (
	SQLite   = Dialect{serial: "INTEGER PRIMARY KEY", bytes: "BLOB", returns: true}
	Postgres = Dialect{serial: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", bytes: "BYTEA", numbered: true, returns: true}
	MySQL    = Dialect{serial: "BIGINT AUTO_INCREMENT PRIMARY KEY", bytes: "LONGBLOB"}
)

// tables are the statements that create the shop's tables where they are
// missing.
func (d Dialect) tables() []string {
	words := strings.NewReplacer("SERIAL", d.serial, "BYTES", d.bytes)
	return []string{
		words.Replace(`CREATE TABLE IF NOT EXISTS orders (
  id SERIAL, account VARCHAR(255) NOT NULL, sku VARCHAR(255) NOT NULL, qty BIGINT NOT NULL, status VARCHAR(32) NOT NULL
)`),
		words.Replace(`CREATE TABLE IF NOT EXISTS cancellations (id SERIAL, order_id BIGINT NOT NULL REFERENCES orders (id))`),
		words.Replace(`CREATE TABLE IF NOT EXISTS receipts (id SERIAL, order_id BIGINT NOT NULL REFERENCES orders (id), body BYTES NOT NULL)`),
		words.Replace(`CREATE TABLE IF NOT EXISTS refunds (id SERIAL, order_id BIGINT NOT NULL REFERENCES orders (id), amount BIGINT NOT NULL)`),
	}
}

// query is a query in the form of the database. Its text has no question marks
// but those of parameters.
func (d Dialect) query(text string) string {
	if !d.numbered {
		return text
	}
	var b strings.Builder
	n := 0
	for _, c := range text {
		if c != '?' {
			b.WriteRune(c)
			continue
		}
		n++
		b.WriteString("$" + strconv.Itoa(n))
	}
	return b.String()
}

// insert runs an INSERT and returns the new row's id.
func (d Dialect) insert(ctx context.Context, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, text string, args ...any) (id int64, err error) {
	if d.returns {
		err = db.QueryRowContext(ctx, d.query(text+" RETURNING id"), args...).Scan(&id)
		return id, err
	}
	result, err := db.ExecContext(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}
