// Package sqlledger is the logic of the ledgers that idemgen emits for
// database/sql: time limits, retries of passing errors, recognition of a
// ledger's own writes, transactions. The statements themselves are emitted into
// the user's module; what could cost money if it were wrong is imported from
// here, so that an update of the module mends it.
//
// Nothing outside the standard library is imported, and no driver.
package sqlledger

// IsAtLeastVersion0_1_0 is named by emitted ledgers. If it is undefined, the
// module in go.mod is older than the generator that wrote the ledger: update
// it, or generate again with the older generator.
const IsAtLeastVersion0_1_0 = true
