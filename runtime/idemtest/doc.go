// Package idemtest is for the tests of services: it sends a request again, loses
// its answer, hangs up, lets another server take its key over, and ends the
// process between any two of its steps, without a sleep. docs/testing.md shows
// each in a test of a few lines. Nothing of it belongs into a service.
package idemtest
