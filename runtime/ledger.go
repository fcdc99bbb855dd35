package runtime

import (
	"context"
	"errors"
	"time"
)

// A Ledger stores claims and answers. Every method is one atomic transition
// that tests its own condition when it writes, by the ledger's own clock, in
// epoch milliseconds. Implementations must be safe for concurrent use.
//
// Writes are safe to repeat: a write that finds its own owner token where it
// would have put it reports true. An implementation retries its own passing
// errors (locks, serialization failures, resets) within the context given and
// limits each statement's time, so callers see only what retrying did not mend.
//
// A row that has a recovery point is half done: its first phases stand. Nothing
// takes it over, reuses, releases or sweeps it; a completion takes the point off.
//
// Errors: [ErrRefused] is for good. Any other error may pass with time, also one
// that an implementation knows nothing of; [ErrRowLocked] and [ErrUnavailable]
// say why it may.
// Package ledgertest is the suite that every implementation passes.
type Ledger interface {
	// Insert claims a key that no row holds. It reports false when a row
	// holds it, whatever the row's state. The row of a claim that is made
	// again is the exception: while it is pending, the claim stands.
	Insert(ctx context.Context, c Claim) (Claimed, bool, error)

	// Read returns the row of a key, and false when there is none. A Read
	// waits for no writer. The answer of a completed row is as durable as an
	// acknowledged write: where a row can be seen before that, Read makes sure.
	Read(ctx context.Context, id ID) (Row, bool, error)

	// TakeOver gives a pending, unexpired row whose lease is over, and whose
	// generation and owner are still those seen, to c.Owner: generation + 1,
	// a new lease. Operation, policy and fingerprint stay the row's own.
	TakeOver(ctx context.Context, seen Fence, c Claim) (Claimed, bool, error)

	// Reuse gives a row that is expired and past its gone_at, and whose
	// generation and owner are still those seen, to c: every column is reset,
	// generation + 1.
	Reuse(ctx context.Context, seen Fence, c Claim) (Claimed, bool, error)

	// Renew extends a pending claim's lease to now + terms.Lease, while the
	// fence holds.
	Renew(ctx context.Context, f Fence, terms Terms) (Claimed, bool, error)

	// Complete stores the answer of a pending claim, while the fence holds;
	// whether the lease is over does not matter. It also reports true when
	// this owner has completed the row already.
	Complete(ctx context.Context, c Completion) (bool, error)

	// Release deletes a pending claim, while the fence holds.
	Release(ctx context.Context, f Fence) (bool, error)

	// EndLease ends a pending claim's lease now, while the fence holds: the
	// row, its fingerprint and its generation stay for the next takeover.
	EndLease(ctx context.Context, f Fence) (bool, error)

	// Sweep clears at most limit rows that are due: the answers of expired
	// rows before their gone_at are dropped, expired rows past it deleted. It
	// waits for no lock and returns how many rows it changed.
	Sweep(ctx context.Context, limit int) (int, error)
}

// A Confirmer is a ledger on which a row can be seen before its commit is durable.
type Confirmer interface {
	// Confirm reports whether the claim has completed its row, by a write that is
	// acknowledged after what it saw.
	Confirm(ctx context.Context, f Fence) (bool, error)
}

// A TxLedger can run work in a transaction of its database. T is what the work
// is handed, such as *sql.Tx.
type TxLedger[T any] interface {
	Ledger

	// Begin opens a transaction whose first statement tests the fence, so
	// that the row is locked until the transaction ends. It reports false,
	// with no transaction left open, when the fence does not hold. The
	// transaction outlives ctx, which limits only its opening. lease is how
	// long the transaction may sit idle, where the engine can limit that.
	Begin(ctx context.Context, f Fence, lease time.Duration) (Tx[T], bool, error)
}

// A Tx is one handler's transaction. It is used by one goroutine at a time and
// is ended by exactly one of Commit and Rollback.
type Tx[T any] interface {
	// Handle is what the handler works with.
	Handle() T

	// Complete stores the answer inside the transaction. It returns
	// [ErrTxEnded] when the transaction ended behind the ledger's back,
	// [ErrTxFailed] when it can only be rolled back, and false when the fence
	// does not hold.
	Complete(ctx context.Context, c Completion) (bool, error)

	// Commit ends the transaction. It returns [ErrTxConflict] when the database
	// rolled it back instead, for the sake of another transaction; after any
	// other error the outcome is unknown.
	Commit(ctx context.Context) error

	// Rollback ends the transaction. It returns [ErrTxEnded] when the
	// transaction ended behind the ledger's back, so that its statements may
	// stand.
	Rollback(ctx context.Context) error
}

// A OnceLedger can claim a key in the very transaction that carries the effect
// and the answer.
type OnceLedger[T any] interface {
	TxLedger[T]

	// CanOnce reports whether the ledger's database can do it.
	CanOnce() bool

	// BeginOnce opens a transaction and claims in it a key that no row holds;
	// others see the row when the transaction commits. It reports false, with
	// no transaction left open, when a row holds the key, and returns
	// [ErrRowLocked] when another transaction is at work on it. The
	// transaction outlives ctx; it may sit idle for as long as the lease.
	BeginOnce(ctx context.Context, c Claim) (OnceTx[T], Claimed, bool, error)
}

// A OnceTx is a [Tx] that carries its own claim.
type OnceTx[T any] interface {
	Tx[T]

	// Undo undoes what the handler did and keeps the claim; Complete, Commit
	// or Rollback follows. Its errors are those of Rollback.
	Undo(ctx context.Context) error
}

// ID is the primary key of a row. Each part is compared bytewise.
type ID struct {
	Principal string // 1-255 bytes
	Scope     string // "" or an operation name
	Key       string // 1-255 bytes of printable ASCII
}

// Owner is the random token of one claim.
type Owner [16]byte

// Fence names one claim of a row: a write under a fence happens only while
// that claim is the row's current one.
type Fence struct {
	ID
	Generation int64
	Owner      Owner
}

// Terms are the durations of a claim, in the ledger's resolution of
// milliseconds.
type Terms struct {
	Lease  time.Duration // until a takeover
	Retain time.Duration // from completion, or from the end of the lease, to expiry
	Gone   time.Duration // from expiry to deletion
}

// Claim is a new claim of a key.
type Claim struct {
	ID
	Terms
	Owner       Owner
	Operation   string
	Policy      string // the fingerprint's rule, see [Rule]
	Fingerprint [32]byte
	// Again says that the owner may have made this claim before, so that the
	// row that Insert meets may be its own.
	Again bool
}

// Claimed is a claim that was won. Times are epoch milliseconds by the
// ledger's clock.
type Claimed struct {
	Generation int64
	ClaimedAt  int64 // the fencing number: grows with every claim of the row
	LeaseUntil int64
	Now        int64 // when the statement ran
}

// Row is a row as it was read. Times are epoch milliseconds by the ledger's
// clock.
type Row struct {
	Operation   string
	Policy      string
	Fingerprint [32]byte
	Completed   bool
	Generation  int64
	Owner       Owner
	ClaimedAt   int64
	LeaseUntil  int64
	ExpiresAt   int64
	GoneAt      int64
	Now         int64 // when the row was read
	Answer      StoredAnswer
}

// Expired reports whether the row's promise has ended: retention is over and
// no lease is alive.
func (r *Row) Expired() bool {
	return r.ExpiresAt <= r.Now && (r.Completed || r.LeaseUntil <= r.Now)
}

// Completion is the answer of a claim. Only Retain and Gone of Terms count.
type Completion struct {
	Fence
	Terms
	Answer StoredAnswer
}

// StoredAnswer is an answer as the ledger keeps it. Headers is what
// [Header.Encode] wrote; neither part is nil in a completion.
type StoredAnswer struct {
	Status  int
	Headers []byte
	Body    []byte
}

var (
	// ErrRowLocked says that another transaction held the row for longer than
	// the ledger's limit.
	ErrRowLocked = errors.New("idemgen: the row is locked")

	// ErrUnavailable says that the ledger could not be reached, or that a
	// lock on the whole database did not come.
	ErrUnavailable = errors.New("idemgen: the ledger is unavailable")

	// ErrRefused says that the values which a statement was to store can never
	// be stored, these very bytes: they do not fit, or break a rule of the
	// table. Nothing else is final. A missing grant, an account that may not
	// log in and a table that is not there are mended while the process runs.
	ErrRefused = errors.New("idemgen: the ledger cannot store this")

	// ErrNotSent says, beside one of the errors above, that no attempt at a
	// statement reached the database: it certainly does not stand.
	ErrNotSent = errors.New("idemgen: nothing was sent")

	// ErrTxFailed says that a statement of the handler failed inside a
	// transaction, which can only be rolled back since.
	ErrTxFailed = errors.New("idemgen: the transaction has failed")

	// ErrTxConflict says that a transaction was rolled back at its commit for
	// the sake of another: nothing of it stands.
	ErrTxConflict = errors.New("idemgen: the transaction was rolled back for the sake of another")

	// ErrTxEnded says that a transaction ended behind the ledger's back.
	ErrTxEnded = errors.New("idemgen: the transaction had ended before its ledger ended it")
)
