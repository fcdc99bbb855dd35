package sim

// Invariant names a promise of docs/semantics.md.
type Invariant string

// The invariants, as docs/semantics.md words them.
const (
	OneCompletion Invariant = "one-completion"
	CurrentOwner  Invariant = "current-owner"
	LiveLease     Invariant = "live-lease"
	LiveOwner     Invariant = "live-owner"
	FencingGrows  Invariant = "fencing-grows"
	ClaimedRun    Invariant = "claimed-run"
	Together      Invariant = "effect-iff-completed"
	Durable       Invariant = "durable-answer"
	ReplayEqual   Invariant = "replay-equal"
	SameRequest   Invariant = "same-request"
	Kept          Invariant = "kept-until-expiry"
	OwnPrincipal  Invariant = "own-principal"
	Documented    Invariant = "documented-answer"
	HonestRefusal Invariant = "honest-refusal"
	FailurePolicy Invariant = "failure-policy"
)

// Invariants lists all of them.
var Invariants = []Invariant{
	OneCompletion, CurrentOwner, LiveLease, LiveOwner, FencingGrows, ClaimedRun, Together, Durable,
	ReplayEqual, SameRequest, Kept, OwnPrincipal, Documented, HonestRefusal, FailurePolicy,
}

// Violation is a broken invariant.
type Violation struct {
	Invariant Invariant
	Seed      uint64 // of the world, see Run
	Choices   []int  // of the world, see Explore
	Message   string
	History   string `json:"-"` // of the world up to there
}
