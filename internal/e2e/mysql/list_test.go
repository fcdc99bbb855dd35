package mysql_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/idemgen/idemgen/runtime"
)

// A page of a list reads its own rows of the primary key and no others, also in
// the middle of one principal's; the count of a principal's keys reads no more
// than its bound.
func TestListReadsARange(t *testing.T) {
	l, db := newLedger(t, 1, "interpolateParams=true")
	for _, principal := range []string{"alice", "bob"} {
		for i := range 150 {
			claim := newClaim(fmt.Sprintf("%04d", i))
			claim.Principal = principal
			_, won, err := l.Insert(t.Context(), claim)
			if !won || err != nil {
				t.Fatal(won, err)
			}
		}
	}
	if _, err := db.Exec("ANALYZE TABLE idempotency_keys"); err != nil {
		t.Fatal(err)
	}
	const limit, slack = 10, 4 // the ends of the ranges
	for name, run := range map[string]func() (int, error){
		"list": func() (int, error) {
			rows, err := l.List(t.Context(), runtime.ID{Principal: "alice", Key: "0100"}, limit)
			return len(rows), err
		},
		"kept": func() (int, error) { return l.Kept(t.Context(), "alice", limit) },
	} {
		before := rowsRead(t, db)
		n, err := run()
		if n != limit || err != nil {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		if read := rowsRead(t, db) - before; read > limit+slack {
			t.Errorf("%s: %d rows were read for %d", name, read, limit)
		}
	}
}

// rowsRead is how many rows this connection has asked the storage engine for.
func rowsRead(t testing.TB, db *sql.DB) (read int64) {
	t.Helper()
	rows, err := db.Query("SHOW SESSION STATUS WHERE Variable_name IN ('Handler_read_first', 'Handler_read_key', 'Handler_read_next', 'Handler_read_rnd')")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var n int64
		if err := rows.Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		read += n
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return read
}
