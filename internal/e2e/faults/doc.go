// Package faults attacks real servers on real databases and looks for double
// effects and lost answers.
//
// Several processes serve the checkout of the example (see server) on one
// PostgreSQL, each through a fault proxy of its own, and others on one SQLite
// file. A fleet of clients pays and retries. Attackers run beside it, each with
// decisions from the seed: they kill and pause servers, cut connections,
// restart the database, fill the disk.
//
// Every request and its answer is kept. At the end the history of each key is
// held against a model of it with a linearizability checker, and the effects
// are counted where they are: in the database, and at the payment service.
//
// The seed fixes what the attackers and clients decide. When that happens is up
// to the machine, so a run with the same seed is alike and not the same.
package faults
