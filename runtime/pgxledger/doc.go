// Package pgxledger is the logic of the PostgreSQL ledgers that idemgen emits
// for pgx: what package sqlledger is for database/sql. The statements are
// emitted into the user's module; what could cost money if it were wrong is
// imported from here, so that an update of the module mends it.
package pgxledger

// IsAtLeastVersion0_1_0 is named by emitted ledgers. If it is undefined, the
// module in go.mod is older than the generator that wrote the ledger: update
// it, or generate again with the older generator.
const IsAtLeastVersion0_1_0 = true
