package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/idemgen/idemgen/example/checkout"
)

// mistakes are what a server must never do. It does each now and then, because
// a checker that finds nothing proves nothing before it has found something.
func mistakes(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		switch rand.IntN(40) {
		case 0:
			// It runs what has run, or runs elsewhere.
			r.Header.Set("Idempotency-Key", fmt.Sprintf("%s %d", r.Header.Get("Idempotency-Key"), rand.Int()))
		case 1:
			// It answers and has done nothing.
			var in checkout.Payment
			json.Unmarshal(body, &in)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			json.NewEncoder(w).Encode(checkout.Receipt{Reference: in.Reference, Cents: in.Cents, Generation: 1})
			return
		case 2:
			// It changes an answer that was given before.
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			text := answer.Body.String()
			if answer.Header().Get("Idempotency-Replayed") == "true" {
				text = strings.Replace(text, `"generation":`, `"generation":1`, 1)
			}
			for name, values := range answer.Header() {
				w.Header()[name] = values
			}
			w.Header().Del("Content-Length")
			w.WriteHeader(answer.Code)
			io.WriteString(w, text)
			return
		}
		next.ServeHTTP(w, r)
	})
}
