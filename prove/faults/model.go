package faults

import (
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"
)

// anyAmount is that of an effect which does not tell it.
const anyAmount = -1 << 63

// register is the model of a key: it is written once, by the first request that
// completes, and then read.
type register struct {
	written bool
	amount  int64  // of the request that wrote it
	answer  string // "" while nobody has seen it
	closed  bool   // with an error, and no effect
}

// model says what may follow on what. An attempt takes its effect at one moment
// between its start and its end; one whose outcome is unknown may do so at any
// time after its start, or never.
var model = (&porcupine.NondeterministicModel{
	Init:  func() []any { return []any{register{}} },
	Step:  func(state, input, _ any) []any { return step(state.(register), input.(*attempt)) },
	Equal: func(a, b any) bool { return a == b },
	DescribeOperation: func(input, _ any) string {
		a := input.(*attempt)
		return fmt.Sprint(a.amount, " ", a.outcome, " ", a.answer)
	},
}).ToModel()

func step(r register, a *attempt) []any {
	wrote := register{written: true, amount: a.amount, answer: a.answer}
	same := r.written && r.amount == a.amount
	switch a.outcome {
	case ran:
		// Nothing runs after a completion. Without a transaction the answer
		// of work that ran may get lost before it is stored: that is the
		// documented window of claim mode.
		switch {
		case r.written:
			return nil
		case a.request.Effect != Transaction:
			return []any{wrote, r}
		}
		return []any{wrote}
	case replayed:
		if same && !r.closed && (r.answer == "" || r.answer == a.answer) {
			return []any{wrote}
		}
		return nil
	case reused:
		// Before a completion somebody else's claim may have been in the way.
		if same {
			return nil
		}
	case closed:
		if same && r.closed && (r.answer == "" || r.answer == a.answer) {
			return []any{register{written: true, amount: a.amount, answer: a.answer, closed: true}}
		}
		return nil
	case observed:
		if stands := r.written && !r.closed; a.effectStands != stands || stands && a.amount != anyAmount && r.amount != a.amount {
			return nil
		}
	case unknown:
		if !r.written && a.mayClose {
			return []any{r, register{written: true, amount: a.amount}, register{written: true, amount: a.amount, closed: true}}
		}
		if !r.written {
			return []any{r, register{written: true, amount: a.amount}}
		}
	}
	return []any{r}
}

// checkLimit bounds the search for an order in which one key's history makes
// sense.
const checkLimit = 20 * time.Second

// explain looks for such an order.
func explain(attempts []*attempt) porcupine.CheckResult {
	var operations []porcupine.Operation
	doubt := map[int64]bool{}
	for _, a := range attempts {
		o := porcupine.Operation{ClientId: a.client, Input: a, Call: a.sent, Return: a.got}
		switch a.outcome {
		case refused, strange:
			continue // they say nothing about the register
		case unknown:
			// The register is written once, so of several doubtful requests
			// with one body only the first matters: it may do at any time
			// whatever the later ones may. Attempts are in the order in which
			// they were sent.
			if doubt[a.amount] {
				continue
			}
			doubt[a.amount] = true
			o.Return = math.MaxInt64
		}
		operations = append(operations, o)
	}
	return porcupine.CheckOperationsTimeout(model, operations, checkLimit)
}
