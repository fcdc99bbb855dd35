package faults

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// books are what the databases hold at one moment.
type books struct {
	rows    map[string]row     // of the ledger, by principal/key
	effects map[string][]int64 // their amounts, by reference
}

// row is a row of the ledger.
type row struct {
	completed  bool
	generation int64
	status     int
	body       string
}

// snapshot reads the ledger and the effects beside it as of one moment, and
// effects elsewhere after that.
func (s *site) snapshot(ctx context.Context) (*books, error) {
	b := &books{rows: map[string]row{}, effects: map[string][]int64{}}
	if s.db == nil {
		return b, nil
	}
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	if s.target.Table != "" {
		if err := b.readRows(ctx, tx, s.target.Table); err != nil {
			return nil, err
		}
	}
	for _, r := range s.target.Requests {
		from := queryer(r.EffectsIn)
		if r.EffectsIn == s.db {
			from = tx
		}
		if r.Effects == "" {
			continue
		}
		if err := b.readEffects(ctx, from, r.Effects); err != nil {
			return nil, fmt.Errorf("effects of %s: %w", r.Name, err)
		}
	}
	return b, nil
}

// queryer is a database or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// The columns are named as they are in every ledger; key is quoted by no
// engine alike, and MySQL takes it only with its table.
func (b *books) readRows(ctx context.Context, tx *sql.Tx, table string) error {
	rows, err := tx.QueryContext(ctx, `SELECT l.principal, l.key, l.status, l.generation, l.response_status, l.response_body FROM `+table+` AS l`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var principal, key, body []byte
		var status string
		var answered sql.NullInt64
		var r row
		if err := rows.Scan(&principal, &key, &status, &r.generation, &answered, &body); err != nil {
			return err
		}
		r.completed, r.status, r.body = status == "completed", int(answered.Int64), string(body)
		b.rows[string(principal)+"/"+string(key)] = r
	}
	return rows.Err()
}

func (b *books) readEffects(ctx context.Context, from queryer, query string) error {
	rows, err := from.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		var reference string
		amount := int64(anyAmount)
		into := []any{&reference, &amount}
		if len(columns) == 1 {
			into = into[:1]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		b.effects[reference] = append(b.effects[reference], amount)
	}
	return rows.Err()
}

// compare holds the effects of transactions against the ledger: each stands if
// and only if its row completed. While attacks go on the database may not be
// there.
func (s *site) compare(ctx context.Context, must bool) *books {
	b, err := s.snapshot(ctx)
	if err != nil {
		if must {
			s.report.broken(fmt.Errorf("count the effects of %s: %w", s.name, err))
		}
		return nil
	}
	s.report.checked("snapshots of a database", 1)
	// A payment that is made up later than the snapshot is in none of its books.
	for _, p := range s.history.expected() {
		if p.request.Effect != Transaction || p.request.Effects == "" {
			continue
		}
		got := b.effects[p.reference]
		if s.target.Table == "" {
			if len(got) > 1 {
				s.report.violate("effect-iff-completed", s.name+" "+p.reference, fmt.Sprintf("the amounts of its effects are %v", got))
			}
			continue
		}
		r, ok := b.rows[s.rowOf(p)]
		want := 0
		if r.completed && r.status/100 == 2 {
			want = 1
		}
		if len(got) != want {
			s.report.violate("effect-iff-completed", s.name+" "+p.reference, fmt.Sprintf("the row is %+v (there is one: %v), and the amounts of its effects are %v", r, ok, got))
		}
	}
	return b
}

// observe makes what a database holds part of the history of its keys.
func (s *site) observe(ctx context.Context) *books {
	sent := int64(time.Since(s.fleet.began))
	b := s.compare(ctx, true)
	if b == nil {
		return nil
	}
	got := int64(time.Since(s.fleet.began))
	s.history.mu.Lock()
	defer s.history.mu.Unlock()
	for reference, attempts := range s.history.keys {
		p := attempts[0].payment
		if p.request.Effect != Transaction || p.request.Effects == "" {
			continue
		}
		a := &attempt{payment: p, sent: sent, got: got, outcome: observed}
		if amounts := b.effects[reference]; len(amounts) > 0 {
			a.effectStands, a.amount = true, amounts[0]
		}
		s.history.keys[reference] = append(attempts, a)
		s.report.checked("effects looked for", 1)
	}
	return b
}
