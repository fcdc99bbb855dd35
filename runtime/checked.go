package runtime

import (
	"fmt"
	"net/http"
	"strings"
)

// checked is an answer as it can be stored and replayed, or why it cannot be.
// Every answer passes here before it is stored, whoever gave it: a handler, the
// work of [Guard.Do], an operator. So what is stored is what the first caller
// gets and what every replay can send.
func (a Answer) checked() (Answer, error) {
	if a.Status == 0 {
		// In the ledger 0 is an answer that was dropped.
		a.Status = http.StatusOK
	}
	if !isAnswerStatus(a.Status) {
		return Answer{}, fmt.Errorf("idemgen: %d is not the status of an answer: from 200 to 999", a.Status)
	}
	var kept Header
	for i, field := range a.Header {
		if !validToken(field.Name) {
			return Answer{}, fmt.Errorf("idemgen: %.64q is not a header name", field.Name)
		}
		fit := HeaderField{http.CanonicalHeaderKey(field.Name), fieldValue(field.Value)}
		drop := silentlyDropped(fit.Name)
		if kept == nil && (drop || fit != field) {
			// The caller's own memory is left as it is.
			kept = append(make(Header, 0, len(a.Header)), a.Header[:i]...)
		}
		if kept != nil && !drop {
			kept = append(kept, fit)
		}
	}
	if kept != nil {
		a.Header = kept
	}
	return a, nil
}

// isAnswerStatus reports whether a status is one with which net/http ends an
// answer.
func isAnswerStatus(status int) bool { return 200 <= status && status <= 999 }

// silentlyDropped names headers that the server writes itself.
func silentlyDropped(canonical string) bool { return serverHeaders[canonical] }

var serverHeaders = func() map[string]bool {
	names := map[string]bool{"Date": true}
	for _, class := range connectionHeaders {
		for name := range strings.FieldsSeq(class.names) {
			names[http.CanonicalHeaderKey(name)] = true
		}
	}
	return names
}()
