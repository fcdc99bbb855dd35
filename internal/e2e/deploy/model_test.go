package deploy_test

import (
	"fmt"

	"github.com/idemgen/idemgen/internal/e2e/process"
)

// release is a binary of the example and what it adds to fingerprints.
type release struct {
	name, binary string
	rule         string // as its rows keep it
	versioned    bool   // X-Api-Version joins
}

// server is a release that runs.
type server struct {
	*release
	*process.Server
}

// same reports whether two requests are the same to the release.
func (r *release) same(a, b request) bool {
	if !r.versioned {
		a.version, b.version = "", ""
	}
	return a == b
}

// life is what a client knows of a key: the request that ran, the release that
// ran it, and the answer.
type life struct {
	request
	by     *release
	answer answer
}

// The verdicts on an answer to a request that did not run.
const (
	replayed = "replayed"
	refused  = "refused as different"
	waited   = "told to wait"
)

// judge holds the answer to a later or concurrent request against what the
// release that ran the key allows, whichever release was asked. A request may be
// told to wait only where it may have met the running one.
func (l *life) judge(asked request, got answer, concurrent bool) (verdict string, err error) {
	same := l.by.same(l.request, asked)
	switch {
	case got.status < 300 && !got.replayed:
		err = fmt.Errorf("double run")
	case got.replayed && !same:
		err = fmt.Errorf("replay of a different request")
	case got.replayed && got != l.answer.again():
		err = fmt.Errorf("the replay differs from the first answer, %+v", l.answer)
	case got.replayed:
		verdict = replayed
	case got.status == 422 && got.code() == "idempotency_key_reused" && same:
		err = fmt.Errorf("false reuse")
	case got.status == 422 && got.code() == "idempotency_key_reused":
		verdict = refused
	case concurrent && got.status == 409 && got.retryAfter != "":
		verdict = waited
	default:
		err = fmt.Errorf("an answer that nothing allows")
	}
	if err != nil {
		err = fmt.Errorf("%w: %s ran %s; %s got %+v", err, l.by.name, l.request, asked, got)
	}
	return verdict, err
}
