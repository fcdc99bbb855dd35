// Package emitted says which ledger packages stand in its folders, as idemgen
// emits them.
package emitted

// Tables has the table of each emitted package: a plain name, a table of the
// schema that every SQLite database has, and one of an attached database.
var Tables = map[string]string{
	"plain":     "idempotency_keys",
	"qualified": "main.keys",
	"attached":  "store.keys",
}
