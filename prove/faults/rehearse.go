package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// rehearse asks for each request once, for each principal, before anything is
// attacked. What goes wrong now is a mistake in what the target says of itself.
// It also learns what the ledger calls the principals.
func (s *site) rehearse(ctx context.Context, seed uint64) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	random := rand.New(rand.NewPCG(seed, 999))
	for _, r := range s.target.Requests {
		for i := range s.target.Principals {
			p, err := s.fleet.first(ctx, r, i)
			if err != nil {
				return err
			}
			a := s.fleet.ask(ctx, random, s.nodes[0], s.fleet.clients.next(), p)
			if a.outcome != ran || !a.success() {
				return fmt.Errorf("%s: before any attack, %s %s was answered %d %s%s", s.name, r.Method, p.fill(r.Path), a.status, strings.TrimSpace(a.body),
					map[bool]string{true: ": there is no " + p.fill(r.Answer) + " in it"}[a.success()])
			}
			b, err := s.snapshot(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if n := len(b.effects[p.reference]); n != 1 && r.Effects != "" {
				return fmt.Errorf("%s: after one answer to %s, %q lists %d effects of the reference %q", s.name, r.Name, r.Effects, n, p.reference)
			}
			if s.target.Table == "" {
				continue
			}
			found := false
			for where, row := range b.rows {
				if name, ok := strings.CutSuffix(where, "/"+p.row()); ok {
					found = true
					s.principals[p.principal] = name
					s.sealed = s.sealed || row.body != a.body
				}
			}
			if !found {
				return fmt.Errorf("%s: %s has no row of the key %q", s.name, s.target.Table, p.row())
			}
		}
	}
	if s.sealed {
		s.report.leaveOut(s.name + ": the bytes of stored answers, which are sealed")
	}
	return nil
}
