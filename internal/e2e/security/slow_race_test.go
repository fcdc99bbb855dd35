//go:build race

package security_test

// slowBodies is fewer with the race detector, which bounds the number of
// goroutines to 8128.
const slowBodies = 2000
