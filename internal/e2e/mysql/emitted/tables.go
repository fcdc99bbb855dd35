// Package emitted names the ledger packages below it and their tables.
package emitted

// Tables are tables by the Go packages that are emitted for them.
var Tables = map[string]string{
	"ledger":    "idempotency_keys",
	"qualified": "shop_keys.keys",
}
