//go:build !race

package security_test

const slowBodies = 10_000
