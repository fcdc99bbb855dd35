package faults

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// check holds a site's history against the promises.
func (s *site) check() {
	for reference, attempts := range s.history.keys {
		slices.SortStableFunc(attempts, func(a, b *attempt) int { return cmp.Compare(a.sent, b.sent) })
		where := s.name + " " + reference
		for _, v := range judge(attempts) {
			s.report.violate(v.Rule, where, v.What)
		}
		s.report.checked("keys", 1)
	}
}

// judge says what is wrong with the history of a key.
func judge(attempts []*attempt) (found []Violation) {
	violate := func(rule string, about ...*attempt) {
		found = append(found, Violation{Rule: rule, What: tell(about)})
	}
	generations := map[int64]bool{}
	final := false
	for _, a := range attempts {
		switch a.outcome {
		case strange:
			violate("documented-answer", a)
		case reused:
			// Somebody must have asked for something else.
			if !slices.ContainsFunc(attempts, func(b *attempt) bool { return b.amount != a.amount && b.sent <= a.got }) {
				violate("same-request", a)
			}
		case ran:
			if a.request.Generation != nil && a.success() {
				if generations[a.generation] {
					violate("claimed-run", attempts...)
				}
				generations[a.generation] = true
			}
			final = true
		case replayed, closed:
			final = true
		}
	}
	if !final {
		violate("documented-answer", attempts...)
	}
	switch explain(attempts) {
	case porcupine.Illegal:
		violate(culprit(attempts), attempts...)
	case porcupine.Unknown:
		violate("not decided in time", attempts...)
	}
	return found
}

// culprit names the promise that a history breaks: the one about those attempts
// without which, or without whose word, the rest makes sense.
func culprit(attempts []*attempt) string {
	doubted := slices.Clone(attempts)
	for i, a := range doubted {
		if a.outcome == refused {
			doubtful := *a
			doubtful.outcome = unknown
			doubted[i] = &doubtful
		}
	}
	if explain(doubted) == porcupine.Ok {
		return "honest-refusal"
	}
	for _, about := range []struct {
		outcome outcome
		rule    string
	}{
		{observed, "effect-iff-completed"},
		{reused, "same-request"},
		{replayed, "replay-equal"},
		{ran, "one-completion"},
	} {
		rest := slices.DeleteFunc(slices.Clone(attempts), func(a *attempt) bool { return a.outcome == about.outcome })
		if explain(rest) == porcupine.Ok {
			return about.rule
		}
	}
	return "one-completion"
}

// checkEffects counts the effects that do not commit with their answers: one for
// each payment that was answered with success, and at most one; or, where a
// claim is all that limits them, at most one for each claim.
func (s *site) checkEffects(b *books) {
	for reference, attempts := range s.history.keys {
		p := attempts[0].payment
		if p.request.Effect == Transaction || p.request.Effects == "" {
			continue
		}
		s.report.checked("effects looked for", 1)
		made := b.effects[reference]
		most, rule := int64(1), "derived-key"
		if p.request.Effect == Claim {
			if s.target.Table == "" {
				continue
			}
			most, rule = b.rows[s.rowOf(p)].generation, "claimed-run"
		}
		if int64(len(made)) > most {
			s.report.violate(rule, s.name+" "+reference, fmt.Sprintf("the amounts of its effects are %v, and at most %d may stand\n%s", made, most, tell(attempts)))
		}
		if p.request.Effect == Claim && len(made) > 1 {
			s.report.checked("windows of claim mode, as documented", 1)
		}
		for _, a := range attempts {
			if a.success() && !slices.ContainsFunc(made, func(amount int64) bool { return amount == a.amount || amount == anyAmount }) {
				s.report.violate("claimed-run", s.name+" "+reference, fmt.Sprintf("the amounts of its effects are %v\n%s", made, tell(attempts)))
				break
			}
		}
	}
}

// checkStored holds the answers that clients got against those in the ledger.
func (s *site) checkStored(b *books) {
	if s.target.Table == "" {
		return
	}
	for reference, attempts := range s.history.keys {
		where := s.rowOf(attempts[0].payment)
		r, ok := b.rows[where]
		if !ok {
			s.report.violate("kept-until-expiry", s.name+" "+reference, "there is no row\n"+tell(attempts))
			continue
		}
		if !r.completed {
			s.report.violate("durable-answer", s.name+" "+reference, fmt.Sprintf("the row is %+v\n%s", r, tell(attempts)))
			continue
		}
		for _, a := range attempts {
			if a.answer == "" || a.status == r.status && (a.body == r.body || s.sealed) {
				continue
			}
			// Without a transaction an answer may be told that is not stored,
			// when the ledger failed or the owner was fenced out. The server
			// has said so then, before it told the answer.
			if a.request.Effect != Transaction && a.outcome == ran && s.told.mayBeUnstored(where, a.generation) {
				s.report.checked("windows of claim mode, as documented", 1)
				continue
			}
			s.report.violate("replay-equal", s.name+" "+reference, fmt.Sprintf("the row is %+v\n%s", r, tell(attempts)))
			break
		}
	}
}

// tell is attempts as lines of text.
func tell(attempts []*attempt) string {
	var lines []string
	for _, a := range attempts {
		lines = append(lines, fmt.Sprintf("%12v to %12v client %d %s, amount %d: %s %d %s %s",
			time.Duration(a.sent).Round(time.Microsecond), time.Duration(a.got).Round(time.Microsecond),
			a.client, a.request.Name, a.amount, a.outcome, a.status, strings.TrimSpace(a.body), map[bool]string{true: "the effect stands"}[a.effectStands]))
	}
	return strings.Join(lines, "\n")
}

func (o outcome) String() string {
	return [...]string{"unknown", "refused", "reused", "ran", "replayed", "observed", "strange", "closed"}[o]
}
