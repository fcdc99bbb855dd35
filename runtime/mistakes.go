package runtime

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
)

// isNil reports whether a value of an interface holds nothing that could work:
// nil itself, or a nil pointer, function or other nil in it.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	switch of := reflect.ValueOf(v); of.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Chan, reflect.Slice:
		return of.IsNil()
	}
	return false
}

// outsideTx says what of a policy needs a transaction, for work without one.
// What is accepted and then does nothing would be taken for a promise.
func (p *Policy) outsideTx() error {
	switch {
	case p.Once:
		return p.mistake("Once: only work in a transaction commits together with its claim")
	case p.Retry > 0:
		return p.mistake("Retry: only work in a transaction runs again after a conflict")
	}
	return nil
}

// insideTx says what of a policy, or of a ledger, does not go together with work
// in a transaction.
func (p *Policy) insideTx(canOnce bool) error {
	switch {
	case p.Renew:
		return p.mistake("Renew: the lease of work in a transaction is not renewed")
	case p.Once && !canOnce:
		return p.mistake("Once: this ledger's database cannot commit claim and effect together")
	}
	return nil
}

func (p *Policy) mistake(what string) error {
	return fmt.Errorf("idemgen: policy of %q: %s", p.Operation, what)
}

// canOnce reports whether a ledger can commit a claim with its effect.
func canOnce[T any](ledger TxLedger[T]) bool {
	once, ok := ledger.(OnceLedger[T])
	return ok && once.CanOnce()
}

var (
	errNoFingerprint = errors.New("idemgen: the call has no Fingerprint: two requests under its key could not be told apart")
	errNoTxLedger    = errors.New("idemgen: nil ledger")
)

// complete refuses a call whose request could not be told from another, before
// anything is claimed for it.
func (c *Call) complete() error {
	if c.Fingerprint != nil || c.exchange != nil && c.exchange.endpoint != nil {
		return nil
	}
	return errNoFingerprint
}

// mistaken serves an endpoint that could not be made, for a program that does
// not look at [Server.Err]: its requests are refused and say why in the log.
func (s *Server) mistaken(err error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		settings := &s.engine.settings
		settings.say(r.Context(), slog.LevelError, "an endpoint was not made; Server.Err says so before it serves", slog.Any("error", err))
		p := settings.problemOf(err)
		p.Retry = RetryFixRequest
		answer := settings.render(r.Context(), ErrorsProblem, p)
		for _, field := range answer.Header {
			w.Header().Set(field.Name, field.Value)
		}
		w.WriteHeader(answer.Status)
		w.Write(answer.Body)
	})
}
