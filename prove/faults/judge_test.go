package faults

import (
	"net/http"
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

// closing is an attempt on a database that may end transactions by itself.
func closing(a *attempt) *attempt { a.mayClose = true; return a }

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
		"closed after a doubtful request":         {nil, []*attempt{closing(made(twice, 1, 2, unknown, "")), seen(3, false), made(twice, 5, 6, closed, "c"), seen(7, false), made(twice, 8, 9, closed, "c")}},

		"runs after it was closed":          {[]string{"one-completion"}, []*attempt{closing(made(twice, 1, 2, unknown, "")), made(twice, 3, 4, closed, "c"), made(twice, 5, 6, ran, "a")}},
		"closed, and its effect stands":     {[]string{"effect-iff-completed"}, []*attempt{closing(made(twice, 1, 2, unknown, "")), made(twice, 3, 4, closed, "c"), seen(5, true)}},
		"closed without a doubt":            {[]string{"one-completion"}, []*attempt{made(twice, 1, 2, refused, ""), closing(made(twice, 3, 4, closed, "c"))}},
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

// What an answer says about its request.
func TestRead(t *testing.T) {
	const again = "true"
	for _, c := range []struct {
		request *Request
		status  int
		marker  string
		body    string
		want    outcome
		again   bool
	}{
		{twice, 201, "", `{"n":5}`, ran, false},
		{twice, 200, again, `{"n":5}`, replayed, false},
		{twice, 201, "", `{"n":6}`, strange, false},
		{twice, 409, "", `{"error":"idempotency_key_in_progress"}`, refused, true},
		{twice, 409, "", `{"error":"idempotency_key_reused"}`, reused, false},
		{twice, 409, "", `{"error":"order_cancelled"}`, strange, true},
		{twice, 503, "", `{"error":"idempotency_outcome_unknown"}`, unknown, true},
		{twice, 500, "", `{"error":"idempotency_outcome_unknown"}`, strange, true},
		{twice, 500, "", `{"error":"internal_error"}`, refused, true},
		{claim, 500, "", `{"error":"internal_error"}`, ran, true},
		{claim, 500, again, `{"error":"internal_error"}`, replayed, false},
		{claim, 502, "", `the refund failed`, unknown, true},
		{claim, 502, again, `the refund failed`, replayed, false},
		{claim, 429, "", ``, unknown, true},
		{claim, 404, "", ``, strange, false},
		{claim, 400, "", `{"error":"idempotency_key_required"}`, strange, false},
	} {
		r := *c.request
		r.Answer = `"n":{amount}`
		a := &attempt{payment: payment{request: &r, amount: 5}}
		a.read(&http.Response{StatusCode: c.status, Header: http.Header{"Idempotency-Replayed": {c.marker}}}, []byte(c.body))
		if a.outcome != c.want || a.again() != c.again {
			t.Errorf("%s: %d %s (replayed: %q) is %s, asked again: %v; want %s, %v", r.Name, c.status, c.body, c.marker, a.outcome, a.again(), c.want, c.again)
		}
	}
}

// A database that ends transactions by itself may close a key with an error,
// which is known to stand when it is replayed.
func TestReadOfAClosedKey(t *testing.T) {
	for marker, want := range map[string]outcome{"": unknown, "true": closed} {
		a := &attempt{payment: payment{request: twice, amount: 5}, mayClose: true}
		a.read(&http.Response{StatusCode: 500, Header: http.Header{"Idempotency-Replayed": {marker}}}, []byte(`{"error":"idempotency_outcome_unknown"}`))
		if a.outcome != want || a.again() != (want == unknown) {
			t.Errorf("replayed %q: it is %s, asked again: %v", marker, a.outcome, a.again())
		}
	}
}
