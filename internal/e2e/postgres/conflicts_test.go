package postgres_test

import (
	"testing"

	"github.com/idemgen/idemgen/internal/e2e/rig"
	"github.com/idemgen/idemgen/runtime"
)

// conflict asks a transaction, which is still open, whether an error is its own.
func (x tx) conflict(t testing.TB, err error) bool {
	t.Helper()
	if err == nil {
		t.Fatal("there was no conflict")
	}
	switch opened := x.Tx.(type) {
	case nativeTx:
		return opened.Tx.(runtime.ConflictTeller).Conflict(t.Context(), err)
	case standardTx:
		return opened.Tx.(runtime.ConflictTeller).Conflict(t.Context(), err)
	}
	panic("unknown transaction")
}

// The same error is a conflict of the transaction that met it, and none of
// another one.
func TestConflictIsOfTheTransactionThatMetIt(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		database := create(t)
		l := d.open(t, server.DSN(database), 0)
		db := openSQL(t, server.DSN(database), 0)
		for _, statement := range []string{"CREATE TABLE stock (id int PRIMARY KEY, n int)", "INSERT INTO stock VALUES (1, 1)"} {
			if _, err := db.Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
		holder, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer holder.Rollback()
		if _, err := holder.Exec("SELECT * FROM stock FOR UPDATE"); err != nil {
			t.Fatal(err)
		}
		const lock = "SELECT * FROM stock FOR UPDATE NOWAIT"

		f := rig.Insert(t, l, "met")
		met := begin(t, l, f)
		refused := met.Handle().exec(t.Context(), lock)
		if !met.conflict(t, refused) {
			t.Errorf("%v is no conflict of the transaction that met it", refused)
		}
		g := rig.Insert(t, l, "healthy")
		healthy := begin(t, l, g)
		if healthy.conflict(t, refused) {
			t.Errorf("%v is a conflict of a transaction that met none", refused)
		}
		// A handler that undoes the failed statement, to a savepoint of its own,
		// has a healthy transaction again.
		for _, statement := range []string{"SAVEPOINT mine", lock, "ROLLBACK TO SAVEPOINT mine"} {
			if err := healthy.Handle().exec(t.Context(), statement); (err != nil) != (statement == lock) {
				t.Fatalf("%s: %v", statement, err)
			}
		}
		if healthy.conflict(t, refused) {
			t.Error("a conflict that was undone is one still")
		}
		healthy.finish(t, g)
		if err := met.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
