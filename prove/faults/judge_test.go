package faults

import (
	"slices"
	"testing"
)

func generation(string) int64 { return 0 }

var (
	claim = &Request{Name: "claim", Effect: Claim, Generation: generation}
	twice = &Request{Name: "twice", Effect: Transaction, Generation: generation}
)

// made is an attempt of amount 5.
func made(r *Request, sent, got int64, o outcome, answer string) *attempt {
	a := &attempt{payment: payment{request: r, amount: 5}, sent: sent, got: got, outcome: o, answer: answer, generation: sent}
	if answer != "" {
		a.status = 201
	}
	return a
}

func other(a *attempt) *attempt { a.amount = 6; return a }

func seen(sent int64, stands bool) *attempt {
	a := made(twice, sent, sent+1, observed, "")
	a.effectStands = stands
	return a
}

func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		want     []string
		attempts []*attempt
	}{
		"run and replay":                          {nil, []*attempt{made(twice, 1, 2, ran, "a"), made(twice, 3, 4, replayed, "a"), seen(5, true)}},
		"replay of an answer that was lost":       {nil, []*attempt{made(twice, 1, 2, unknown, ""), made(twice, 3, 4, replayed, "a")}},
		"nothing came of a doubtful request":      {nil, []*attempt{made(twice, 1, 2, unknown, ""), seen(3, false), made(twice, 5, 6, ran, "a")}},
		"a doubtful request ran late":             {nil, []*attempt{made(twice, 1, 2, unknown, ""), seen(3, false), made(twice, 5, 6, replayed, "a")}},
		"reuse":                                   {nil, []*attempt{made(twice, 1, 2, ran, "a"), other(made(twice, 3, 4, reused, ""))}},
		"reuse of a claim that was released":      {nil, []*attempt{made(twice, 1, 9, refused, ""), other(made(twice, 2, 3, reused, "")), other(made(twice, 10, 11, ran, "b"))}},
		"fenced out in claim mode":                {nil, []*attempt{made(claim, 1, 9, ran, "a"), made(claim, 2, 5, ran, "b"), made(claim, 10, 11, replayed, "b")}},
		"lost before it was stored in claim mode": {nil, []*attempt{made(claim, 1, 2, ran, "a"), made(claim, 3, 4, ran, "b"), made(claim, 5, 6, replayed, "b")}},

		"runs twice":                        {[]string{"one-completion"}, []*attempt{made(twice, 1, 2, ran, "a"), made(twice, 3, 4, ran, "b")}},
		"runs twice at once":                {[]string{"one-completion"}, []*attempt{made(twice, 1, 4, ran, "a"), made(twice, 2, 5, ran, "b")}},
		"runs after a replay in claim mode": {[]string{"replay-equal"}, []*attempt{made(claim, 1, 2, ran, "a"), made(claim, 3, 4, replayed, "a"), made(claim, 5, 6, ran, "b")}},
		"runs twice under one claim":        {[]string{"claimed-run"}, []*attempt{made(claim, 1, 9, ran, "a"), func() *attempt { a := made(claim, 2, 5, ran, "a"); a.generation = 1; return a }()}},
		"another answer":                    {[]string{"replay-equal"}, []*attempt{made(twice, 1, 2, ran, "a"), made(twice, 3, 4, replayed, "b")}},
		"an answer that changes":            {[]string{"replay-equal"}, []*attempt{made(twice, 1, 2, unknown, ""), made(twice, 3, 4, replayed, "a"), made(twice, 5, 6, replayed, "b")}},
		"a replay of nothing":               {[]string{"replay-equal"}, []*attempt{made(twice, 1, 2, replayed, "a"), made(twice, 3, 4, unknown, "")}},
		"the answer of another":             {[]string{"replay-equal"}, []*attempt{made(twice, 1, 2, ran, "a"), other(made(twice, 3, 4, replayed, "a"))}},
		"no effect":                         {[]string{"effect-iff-completed"}, []*attempt{made(twice, 1, 2, ran, "a"), seen(3, false)}},
		"an effect of nothing":              {[]string{"effect-iff-completed"}, []*attempt{made(twice, 1, 2, refused, ""), seen(3, true), made(twice, 5, 6, ran, "a")}},
		"a genuine retry refused":           {[]string{"same-request"}, []*attempt{made(twice, 1, 2, ran, "a"), other(made(twice, 3, 4, reused, "")), made(twice, 5, 6, reused, "")}},
		"refused without another":           {[]string{"same-request"}, []*attempt{made(twice, 1, 2, reused, ""), made(twice, 3, 4, ran, "a")}},
		"refused, and it stands":            {[]string{"honest-refusal"}, []*attempt{made(twice, 1, 2, refused, ""), seen(3, true), made(twice, 5, 6, replayed, "a")}},
		"never an answer":                   {[]string{"documented-answer"}, []*attempt{made(twice, 1, 2, unknown, "")}},
		"a strange answer":                  {[]string{"documented-answer"}, []*attempt{made(twice, 1, 2, strange, ""), made(twice, 3, 4, ran, "a")}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, v := range judge(c.attempts) {
				got = append(got, v.Rule)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("broken are %q, want %q", got, c.want)
			}
		})
	}
}
