// Package payments is a stand-in for a payment service that honours
// idempotency keys, and a client for it.
package payments

import (
	"context"
	"database/sql"
	"encoding/json"
	"log"
	"net/http"
)

// Charge is what a customer pays for.
type Charge struct {
	Reference string `json:"reference"`
	Cents     int64  `json:"cents"`
}

// Service keeps charges in a table of an SQLite database. It is safe for
// concurrent use.
type Service struct{ db *sql.DB }

// NewService returns a service after creating its table where it is missing.
func NewService(ctx context.Context, db *sql.DB) (*Service, error) {
	_, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS charges (
  id INTEGER PRIMARY KEY, idempotency_key TEXT UNIQUE, reference TEXT NOT NULL, cents INTEGER NOT NULL
)`)
	return &Service{db}, err
}

// ServeHTTP answers POST /charges, which charges once for each
// Idempotency-Key, and as often as it is asked to without one; GET /charges
// lists the charges, oldest first.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "POST /charges":
		s.charge(w, r)
	case "GET /charges":
		charges, err := s.Charges(r.Context())
		if err != nil {
			log.Print(err)
			http.Error(w, "the charges could not be read", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"charges": charges})
	default:
		http.NotFound(w, r)
	}
}

func (s *Service) charge(w http.ResponseWriter, r *http.Request) {
	var c Charge
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil || c.Reference == "" || c.Cents < 1 {
		http.Error(w, "want a reference and positive cents", http.StatusBadRequest)
		return
	}
	// The table's unique key does what this service promises: a key that has
	// been charged is not charged again.
	key := sql.NullString{String: r.Header.Get("Idempotency-Key")}
	key.Valid = key.String != ""
	_, err := s.db.ExecContext(r.Context(),
		`INSERT INTO charges (idempotency_key, reference, cents) VALUES (?, ?, ?) ON CONFLICT (idempotency_key) DO NOTHING`,
		key, c.Reference, c.Cents)
	if err != nil {
		log.Print(err)
		http.Error(w, "the charge failed", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusCreated)
}

// Charges lists the charges, oldest first.
func (s *Service) Charges(ctx context.Context) ([]Charge, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT reference, cents FROM charges ORDER BY id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	charges := []Charge{}
	for rows.Next() {
		var c Charge
		if err := rows.Scan(&c.Reference, &c.Cents); err != nil {
			return nil, err
		}
		charges = append(charges, c)
	}
	return charges, rows.Err()
}
