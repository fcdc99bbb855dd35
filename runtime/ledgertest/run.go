// Package ledgertest is the suite that every implementation of
// [runtime.Ledger] and [runtime.TxLedger] passes. A case is a sentence of
// their documentation; nothing in it waits for time to pass.
//
//	func TestLedger(t *testing.T) {
//		ledgertest.Run(t, func(t *testing.T) ledgertest.Harness {
//			...
//		})
//	}
package ledgertest

import (
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// Harness is a ledger under test.
type Harness struct {
	// Ledger is empty, and used by one case alone.
	Ledger runtime.Ledger

	// Age makes every row older by d, or younger when d is negative, as if
	// the ledger's clock had moved: either the clock does, or every time in
	// the table moves the other way.
	Age func(d time.Duration)

	// Advance gives the row of a key a recovery point, as phases do, and
	// changes nothing else. It is nil where the ledger has none to give: then
	// no row of it is ever half done.
	Advance func(id runtime.ID, point string)
}

// Run runs the suite. open is called for each case.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for _, g := range []struct {
		name  string
		cases []testCase
	}{
		{"Insert", insertCases},
		{"Read", readCases},
		{"TakeOver", takeOverCases},
		{"Reuse", reuseCases},
		{"Renew", renewCases},
		{"Complete", completeCases},
		{"Release", releaseCases},
		{"EndLease", endLeaseCases},
		{"Sweep", sweepCases},
		{"Operator", operatorCases},
		{"List", listCases},
		{"HalfDone", halfDoneCases},
		{"Fences", fenceCases},
		{"Keys", keyCases},
		{"Answers", answerCases},
		{"Contexts", contextCases},
		{"Races", raceCases},
		{"Crowds", crowdCases},
	} {
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.cases {
				t.Run(c.name, func(t *testing.T) {
					h := open(t)
					c.run(&suite{T: t, ledger: h.Ledger, age: h.Age, point: h.Advance})
				})
			}
		})
	}
}

// testCase is one rule.
type testCase struct {
	name string
	run  func(*suite)
}
