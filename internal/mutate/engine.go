package main

import "slices"

// runtimeTest is a test of the engine's own package.
func runtimeTest(name string) test { return test{module: ".", pkg: "./runtime", name: name} }

// engineMutations break what happens between the claim and its end.
var engineMutations = slices.Concat(claimMutations, callMutations, guardMutations, settleMutations,
	txMutations, onceMutations, renewMutations, waitMutations, deadlineMutations, coreMutations)
