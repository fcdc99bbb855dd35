package sim

import "github.com/idemgen/idemgen/runtime"

// stored checks that an answer which was stored is what the run ended with, and
// that a failure was to be stored.
func (c *checker) stored(e *Event, r *requestAccount) {
	want := 500
	switch r.outcome {
	case created:
		want = 201
	case notFound:
		want = 404
	case conflicting, commitCalled, commitSent, rollbackCalled, rollbackSent:
		return // see closed; what a conflict comes to depends on its rollback
	}
	if e.Answer.Status != want || c.becomes(r.outcome) != runtime.FailureStore {
		c.broken(FailurePolicy, "%d is stored for request %d, which ended as %s", e.Answer.Status, r.n, r.outcome)
	}
}

// released checks that a claim whose run has ended was to be released. A
// transaction that could not be completed or committed releases it, too; one
// that carries its claim leaves nothing that says why.
func (c *checker) released(r *requestAccount) {
	if r.outcome == "" || c.queues || c.becomes(r.outcome) == runtime.FailureRelease {
		return
	}
	switch r.outcome {
	case failing, foreign, holding, heldConflict, panicking, aborting, exiting, tooLarge:
	default:
		if c.transactions {
			return
		}
	}
	c.broken(FailurePolicy, "the claim of request %d is released, which ended as %s", r.n, r.outcome)
}
