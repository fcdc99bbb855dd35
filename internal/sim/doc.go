// Package sim attacks the engine in a simulation: the real engine runs against
// a model of the ledger, in virtual time (testing/synctest), and a scheduler
// decides the order of everything: which statement is executed next, which
// answer is late, which write fails or fails to say that it stood, when an
// owner is slow, when a process dies or a clock jumps. What happened is a
// history, and [check] holds the history against the invariants of
// docs/semantics.md.
//
// [Run] draws the decisions from a seed; [Explore] tries all of them for three
// owners of two keys, up to a depth. A [Variant] is a known mistake: the tests
// show that the checker finds each of them.
//
// synctest works inside of tests only, so both take a *testing.T. A program
// runs them as
//
//	go test ./internal/sim -run 'TestRun$' -sim.seed=1 -sim.steps=1000000 -sim.report=report.json
//
// A seed gives the same decisions every time. One thing is out of its reach:
// the engine remembers the keys that it has met in a small table hashed under
// a random seed, and two keys of a world share a slot there once in some
// thousand worlds. That costs the engine one statement and nothing else.
package sim
