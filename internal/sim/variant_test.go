package sim

import (
	"slices"
	"testing"
)

// budget is how many steps the checker is given to find a mistake.
const budget = 1_000_000

// catches says which invariant each known mistake must be seen to break.
var catches = map[Variant]Invariant{
	UnfencedCompletion:   CurrentOwner,
	AgeOnlyTakeover:      LiveLease,
	BlindSweep:           Kept,
	OwnerlessRelease:     CurrentOwner,
	ExpiredBeatsLease:    Kept,
	DeadlineFromAnswer:   LiveOwner,
	AnswerBeforeDurable:  Durable,
	InsertAlwaysWins:     ClaimedRun,
	BlindFingerprint:     SameRequest,
	SharedPrincipals:     OwnPrincipal,
	AlteredReplay:        ReplayEqual,
	RawErrors:            Documented,
	FencingFromClock:     FencingGrows,
	CompletionOutsideTx:  Together,
	CommitWithoutRowLock: HonestRefusal,
	ForgottenCompletion:  Durable,
	EmptyRenewal:         LiveOwner,
	SecondCompletion:     OneCompletion,
	GatelessClaims:       Kept,
	AnswerBeforeCommit:   Durable,
	EmptyUndo:            Together,
	UndecidedRetry:       HonestRefusal,
	EagerRetry:           ClaimedRun,
	KeptEffect:           Together,
	StoredFailures:       FailurePolicy,
	ForeignConflicts:     ClaimedRun,
	UnseenEnd:            Together,
	EarlyReplay:          Durable,
	EarlyRecognition:     Durable,
}

// A checker that cannot fail proves nothing: each known mistake is found
// within the budget, by the invariant that it breaks.
func TestKnownMistakesAreFound(t *testing.T) {
	first := seed(t)
	for _, variant := range Variants {
		t.Run(string(variant), func(t *testing.T) {
			found := func(r Report) bool {
				return slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Invariant == catches[variant] })
			}
			report := run(t, variant, first, budget, found)
			if !found(report) {
				t.Fatalf("%s is not seen in %d steps; seen: %v", catches[variant], report.Steps, broken(report))
			}
			t.Logf("seen after %d steps in %d worlds: %v", report.Steps, report.Worlds, broken(report))
		})
	}
}

// Each invariant is one that a mistake is seen to break.
func TestEveryInvariantCanFail(t *testing.T) {
	for _, i := range Invariants {
		if !slices.ContainsFunc(Variants, func(v Variant) bool { return catches[v] == i }) {
			t.Errorf("no mistake breaks %s", i)
		}
	}
}

// broken lists the invariants that a report says are broken.
func broken(r Report) (broken []Invariant) {
	for _, v := range r.Violations {
		if !slices.Contains(broken, v.Invariant) {
			broken = append(broken, v.Invariant)
		}
	}
	return broken
}
