package sim

// Variant is a known mistake, made on purpose in the model of the ledger or
// around the engine. The checker must find each of them.
type Variant string

// The mistakes. Correct is none.
const (
	Correct Variant = ""

	UnfencedCompletion   Variant = "unfenced completion"                      // any owner's completion is stored
	AgeOnlyTakeover      Variant = "age-only takeover"                        // a takeover tests how old the row is, not whose it is
	BlindSweep           Variant = "sweep without re-test"                    // rows that were due are deleted whatever became of them
	OwnerlessRelease     Variant = "release without owner"                    // a release deletes whoever's pending claim
	ExpiredBeatsLease    Variant = "expired beats a live lease"               // expiry counts from the first claim and ends leases
	DeadlineFromAnswer   Variant = "deadline counted from the claim's answer" // and not from its sending
	AnswerBeforeDurable  Variant = "caller woken before durability"           // a completion is acknowledged before it is stored
	InsertAlwaysWins     Variant = "insert always wins"                       // an insert that meets a row says that it claimed it
	BlindFingerprint     Variant = "blind fingerprint"                        // the fingerprint leaves out the body
	SharedPrincipals     Variant = "shared principals"                        // the primary key leaves out the principal
	AlteredReplay        Variant = "altered replay"                           // stored headers are lost
	RawErrors            Variant = "raw errors"                               // the ledger's own errors reach clients
	FencingFromClock     Variant = "fencing number from the clock"            // not made greater than the one before
	CompletionOutsideTx  Variant = "completion outside the transaction"       // it stands before the effect does
	CommitWithoutRowLock Variant = "commit without a row lock"                // a fenced write passes a transaction in flight
	ForgottenCompletion  Variant = "forgotten completion"                     // a completion that failed is not repeated
	EmptyRenewal         Variant = "renewal that renews nothing"              // it says that it did
	SecondCompletion     Variant = "completion of a completed row"            // by its owner, with another answer
	GatelessClaims       Variant = "gateless claims"                          // two transactions claim one key
	AnswerBeforeCommit   Variant = "answer before the commit"                 // of claim, effect and answer
	EmptyUndo            Variant = "undo that undoes nothing"                 // but keeps the claim
	UndecidedRetry       Variant = "undecided retry"                          // a COMMIT of unknown outcome counts as rolled back
	EagerRetry           Variant = "one retry too many"                       // more than the policy says
	KeptEffect           Variant = "retry that keeps the effect"              // of the run that met another transaction
	StoredFailures       Variant = "stored failures"                          // whatever the policy says
	ForeignConflicts     Variant = "conflicts of others"                      // an error of the kind counts, whoever met it
	UnseenEnd            Variant = "end by hand unseen"                       // a transaction that its handler ended is taken for ours
	EarlyReplay          Variant = "replay before durability"                 // of an answer that no standby has
	EarlyRecognition     Variant = "own row recognised before durability"     // a row that is seen counts as one that was acknowledged
)

// Variants lists all mistakes.
var Variants = []Variant{
	UnfencedCompletion, AgeOnlyTakeover, BlindSweep, OwnerlessRelease, ExpiredBeatsLease, DeadlineFromAnswer,
	AnswerBeforeDurable, InsertAlwaysWins, BlindFingerprint, SharedPrincipals, AlteredReplay, RawErrors,
	FencingFromClock, CompletionOutsideTx, CommitWithoutRowLock, ForgottenCompletion, EmptyRenewal, SecondCompletion,
	GatelessClaims, AnswerBeforeCommit, EmptyUndo, UndecidedRetry, EagerRetry, KeptEffect, StoredFailures, ForeignConflicts, UnseenEnd,
	EarlyReplay, EarlyRecognition,
}
