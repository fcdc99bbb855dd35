// Package faults attacks real servers on real databases and looks for double
// effects and lost answers.
//
// A [Target] is servers that share a database, each behind a fault proxy of its
// own, and requests that they take. A fleet of clients asks and retries as
// Stripe's clients do. Attackers run beside it, each with decisions from the
// seed: they kill and pause servers, cut connections, restart the database,
// fill the disk.
//
// Every request and its answer is kept. At the end the history of each key is
// held against a model of it with a linearizability checker, and the effects
// are counted where they are.
//
// The seed fixes what the attackers and clients decide. When that happens is up
// to the machine, so a run with the same seed is alike and not the same.
//
// The command prove runs it for any server; this repository's own suite gives
// it servers of its own. The package makes no promise to stay as it is.
package faults
