package mysql_test

import (
	"testing"
)

// A server that has as many prepared statements as it will takes a request's
// statements as text, also on a connection that is new.
func TestPreparedStatementsRunOut(t *testing.T) {
	for _, options := range [][]string{nil, {"interpolateParams=true"}} {
		l, db := newLedger(t, 2, options...)
		admin := open(t, server.DSN("mysql", "interpolateParams=true"), 1)
		set := func(n int) {
			t.Helper()
			if _, err := admin.Exec("SET GLOBAL max_prepared_stmt_count = ?", n); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() { set(16382) })
		request := func(key string) {
			t.Helper()
			c := newClaim(key)
			claimed, won, err := l.Insert(t.Context(), c)
			if err != nil || !won {
				t.Fatalf("%v: Insert = %v, %v", options, won, err)
			}
			if stands, err := l.Complete(t.Context(), completion(fence(c, claimed), []byte("answer"))); err != nil || !stands {
				t.Fatalf("%v: Complete = %v, %v", options, stands, err)
			}
			if row := read(t, l, key); !row.Completed || string(row.Answer.Body) != "answer" {
				t.Fatalf("%v: the row is %+v", options, row)
			}
		}
		request("prepared")
		held, err := db.Conn(t.Context()) // on which they are
		if err != nil {
			t.Fatal(err)
		}
		set(0)
		if len(options) > 0 { // otherwise text is prepared, too
			request("on a new connection")
		}
		held.Close()
		request("on the old one")
	}
}
