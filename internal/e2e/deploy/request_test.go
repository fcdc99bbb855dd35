package deploy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/idemgen/idemgen/internal/e2e/process"
)

// request is one request of alice's. Its form has a place for a number, so that
// another number makes another body.
type request struct {
	method, path, key, contentType, version, form string
	number                                        int
}

func (r request) body() string { return fmt.Sprintf(r.form, r.number) }

func (r request) String() string {
	return fmt.Sprintf("%s %s under %q, %s, version %q, %s", r.method, r.path, r.key, r.contentType, r.version, r.body())
}

// answer is what a client can see of an answer and a replay has to repeat, and
// whether it was a replay.
type answer struct {
	status                      int
	contentType, location, body string
	replayed                    bool
	retryAfter                  string
}

// again is the answer as a replay of it would be.
func (a answer) again() answer {
	a.replayed = true
	return a
}

// code is the word that both forms of the error answers have.
func (a answer) code() string {
	var problem struct{ Error string }
	json.Unmarshal([]byte(a.body), &problem)
	return problem.Error
}

var web = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// patience is how often a server may say that it did nothing for lack of its
// database. On a busy machine a claim may be given back.
const patience = 100

// send sends a request until the server has done something about it.
func (r request) send(s *process.Server) (a answer, err error) {
	for range patience {
		a, err = r.once(s)
		if err != nil || a.status != 503 || a.code() != "idempotency_ledger_unavailable" {
			return a, err
		}
	}
	return a, err
}

func (r request) once(s *process.Server) (answer, error) {
	q, err := http.NewRequest(r.method, s.URL+r.path, strings.NewReader(r.body()))
	if err != nil {
		return answer{}, err
	}
	q.Header.Set("Authorization", "Bearer alice")
	q.Header.Set("Idempotency-Key", r.key)
	q.Header.Set("Content-Type", r.contentType)
	if r.version != "" {
		q.Header.Set("X-Api-Version", r.version)
	}
	p, err := web.Do(q)
	if err != nil {
		return answer{}, err
	}
	defer p.Body.Close()
	body, err := io.ReadAll(p.Body)
	return answer{
		p.StatusCode, p.Header.Get("Content-Type"), p.Header.Get("Location"), string(body),
		p.Header.Get("Idempotency-Replayed") == "true", p.Header.Get("Retry-After"),
	}, err
}
