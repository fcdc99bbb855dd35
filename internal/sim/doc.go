// Package sim attacks the engine in a simulation: the real engine runs against
// a model of the ledger, in virtual time (testing/synctest), and a scheduler
// decides the order of everything: which statement is executed next, which
// answer is late, which write fails or fails to say that it stood, when an
// owner is slow, when a process dies or a clock jumps. What happened is a
// history, and a checker holds it against the invariants of docs/semantics.md.
//
// Each world draws how it commits: claims alone, claim and then effect and
// answer ([Twice]), all in one ([Once]), or two of them side by side as in a
// deployment. Transactions meet each other, at a statement or at the commit,
// so that handlers run again; and in some worlds handlers end their
// transactions themselves, by a call or by SQL, or go on writing after it.
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
// and reads the [Report]; -sim.seed is 1 and -sim.steps 100,000 unless given,
// and who wants other worlds takes a seed from the clock. A failure prints its
// world's seed, with which one step plays that world alone.
//
// A seed gives the same decisions every time, with two exceptions that are out
// of its reach: a waiter with two reasons to wake at once takes either, and
// two keys may share a slot of the table in which an engine remembers the keys
// that it has met, which costs one statement. About two in a hundred worlds
// differ so between two plays; -count=20 plays a world often enough.
package sim
