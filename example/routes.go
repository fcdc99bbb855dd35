package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"

	"github.com/idemgen/idemgen/example/orders"
)

// routes serves the whole shop under one ServeMux, so that it knows all methods
// of a path: a mux behind another would tell of its own alone.
func routes(server *orders.OrdersServer, list func(ctx context.Context, account string) ([]orders.Order, error)) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /v1/orders", server.Create)
	mux.Handle("POST /v1/orders/{id}/cancel", server.Cancel)
	mux.Handle("PUT /v1/orders/{id}/receipt", server.Upload)
	mux.Handle("POST /v1/refunds", server.Refund)
	mux.HandleFunc("GET /v1/orders", func(w http.ResponseWriter, r *http.Request) {
		account, err := principal(r)
		if err != nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
			problem(w, http.StatusUnauthorized, err.Error())
			return
		}
		all, err := list(r.Context(), account)
		if err != nil {
			log.Print(err)
			problem(w, http.StatusInternalServerError, "The orders could not be read.")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"orders": all})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if unrouted, pattern := mux.Handler(r); pattern == "" {
			nowhere(w, r, unrouted)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// nowhere answers a request that has no route in the form of all other errors.
// unrouted is the mux's own answer, in plain text.
func nowhere(w http.ResponseWriter, r *http.Request, unrouted http.Handler) {
	answer := &unread{header: w.Header()}
	unrouted.ServeHTTP(answer, r)
	switch {
	case answer.status == http.StatusMethodNotAllowed && r.Method == http.MethodOptions:
		w.Header().Del("Content-Type")
		w.WriteHeader(http.StatusNoContent) // its header says which methods there are
	case answer.status == http.StatusMethodNotAllowed:
		problem(w, answer.status, "The path has other methods: see the header Allow.")
	default:
		problem(w, http.StatusNotFound, "There is nothing at this path.")
	}
}

// unread is a ResponseWriter that keeps header and status alone.
type unread struct {
	header http.Header
	status int
}

func (u *unread) Header() http.Header         { return u.header }
func (u *unread) WriteHeader(status int)      { u.status = status }
func (u *unread) Write(p []byte) (int, error) { return len(p), nil }

// problem writes a problem document (RFC 9457) as the endpoints write them.
func problem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{"type": "about:blank", "title": http.StatusText(status), "status": status, "detail": detail})
}
