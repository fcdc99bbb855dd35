package runtime

import "context"

// A ListLedger is a ledger whose rows an operator can go through. It is of its own
// so that ledgers without it stay ledgers.
type ListLedger interface {
	OperatorLedger

	// List returns at most limit rows behind a key, in the bytewise order of
	// principal, scope and key, without their answers. It reads no other rows.
	List(ctx context.Context, after ID, limit int) ([]Listed, error)
}

// Listed is a row of a list. Of its Row, the fingerprint and the answer's headers
// and body are left out.
type Listed struct {
	ID            ID
	Row           Row
	AnswerBytes   int64  // headers and body as stored
	RecoveryPoint string // not empty: the row is half done
}

// A KeptLedger is a ledger that can count the rows of a principal.
type KeptLedger interface {
	Ledger

	// Kept returns how many rows a principal has, whatever their state, but at
	// most limit: it reads no more of them.
	Kept(ctx context.Context, principal string, limit int) (int, error)
}
