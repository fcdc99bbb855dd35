package faults

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/idemgen/idemgen/example/checkout"
)

// books are what a database holds at one moment.
type books struct {
	rows     map[string]row     // of the ledger, by reference
	bookings map[string][]int64 // sorted amounts, by reference
}

// row is a row of the ledger.
type row struct {
	path      string
	completed bool
	status    int
	body      string
}

// snapshot reads the ledger and the effects as of one moment.
func snapshot(ctx context.Context, db *sql.DB) (*books, error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	b := &books{rows: map[string]row{}, bookings: map[string][]int64{}}
	rows, err := tx.QueryContext(ctx, `SELECT principal, key, operation, status, response_status, response_body FROM idempotency_keys`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var principal, key, body []byte
		var operation, status string
		var r row
		if err := rows.Scan(&principal, &key, &operation, &status, &r.status, &body); err != nil {
			return nil, err
		}
		r.path, r.completed, r.body = operation[len("POST "):], status == "completed", string(body)
		b.rows[string(principal)+"/"+string(key)] = r
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	amounts, err := tx.QueryContext(ctx, `SELECT reference, cents FROM bookings`)
	if err != nil {
		return nil, err
	}
	defer amounts.Close()
	for amounts.Next() {
		var reference string
		var cents int64
		if err := amounts.Scan(&reference, &cents); err != nil {
			return nil, err
		}
		b.bookings[reference] = append(b.bookings[reference], cents)
	}
	for _, list := range b.bookings {
		slices.Sort(list)
	}
	return b, amounts.Err()
}

// compare holds the effects in the database against its ledger: each stands if
// and only if its row completed. While attacks go on the database may not be
// there.
func (s *site) compare(ctx context.Context, must bool) *books {
	b, err := snapshot(ctx, s.db)
	if err != nil {
		if must {
			s.report.broken(fmt.Errorf("count the effects of %s: %w", s.name, err))
		}
		return nil
	}
	s.report.checked("snapshots of a database", 1)
	for reference, r := range b.rows {
		m := modeOf(r.path)
		if m.effects == nil {
			continue
		}
		var want []int64
		if r.completed && r.status == 201 {
			want = m.effects(receiptOf(r.body).Cents)
		}
		if got := b.bookings[reference]; !slices.Equal(got, want) {
			s.report.violate("effect-iff-completed", s.name+" "+reference, fmt.Sprintf("the row is %+v, and booked is %v", r, got))
		}
	}
	for reference, got := range b.bookings {
		if _, ok := b.rows[reference]; !ok {
			s.report.violate("effect-iff-completed", s.name+" "+reference, fmt.Sprintf("there is no row, and booked is %v", got))
		}
	}
	return b
}

// observe makes what a database holds part of the history of its keys.
func (s *site) observe(ctx context.Context) {
	sent := int64(time.Since(s.fleet.began))
	b := s.compare(ctx, true)
	if b == nil {
		return
	}
	got := int64(time.Since(s.fleet.began))
	s.history.mu.Lock()
	defer s.history.mu.Unlock()
	for reference, attempts := range s.history.keys {
		p := attempts[0].payment
		if p.mode.effects == nil {
			continue
		}
		a := &attempt{payment: p, sent: sent, got: got, outcome: observed}
		if booked := b.bookings[reference]; len(booked) > 0 {
			a.effectStands, a.cents = true, booked[len(booked)-1]
		}
		s.history.keys[reference] = append(attempts, a)
		s.report.checked("effects looked for", 1)
	}
}

func modeOf(path string) *mode {
	for _, m := range modes {
		if m.path == path {
			return m
		}
	}
	panic("no mode has the path " + path)
}

func receiptOf(body string) (r checkout.Receipt) {
	json.Unmarshal([]byte(body), &r)
	return r
}
