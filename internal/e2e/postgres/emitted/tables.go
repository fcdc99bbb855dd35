// Package emitted names the ledger packages below it.
package emitted

// Package is a ledger that is emitted.
type Package struct{ Driver, Table string }

// Packages are the ledgers by the names of their Go packages.
var Packages = map[string]Package{
	"native":    {"pgx", "idempotency_keys"},
	"standard":  {"sql", "idempotency_keys"},
	"qualified": {"pgx", "shop_keys.keys"},
}
