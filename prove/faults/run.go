package faults

import (
	"context"
	"sync"
	"time"
)

// Options say how to attack.
type Options struct {
	// For is how long the attacks go on. Afterwards everything is mended, each
	// payment asked for once more, and all of it checked.
	For  time.Duration
	Seed uint64
	// Rehearse asks for each request before anything is attacked, and says what
	// the target says wrongly of itself.
	Rehearse bool
}

// Run attacks targets, at the same time, and checks. An error says that the
// suite itself did not work; what it found is in the report.
func Run(ctx context.Context, o Options, targets ...*Target) (*Report, error) {
	began := time.Now()
	r := newRecord(o.Seed)
	var sites []*site
	for _, t := range targets {
		s, err := newSite(r, t)
		if err != nil {
			return nil, err
		}
		defer s.stop()
		s.fleet = newFleet(s, began)
		sites = append(sites, s)
	}
	if err := attackAll(ctx, o, sites); err != nil {
		return nil, err
	}
	r.report.Took = time.Since(began)
	return &r.report, r.failure
}

// attackAll runs sites through attacks, rest and checks.
func attackAll(ctx context.Context, o Options, sites []*site) error {
	ctx, end := context.WithCancel(ctx)
	var alive sync.WaitGroup
	defer func() {
		end()
		alive.Wait()
	}()
	for i, s := range sites {
		if err := s.start(ctx, &alive); err != nil {
			return err
		}
		if o.Rehearse {
			if err := s.rehearse(ctx, o.Seed+uint64(i)<<32); err != nil {
				return err
			}
		}
	}
	var all sync.WaitGroup
	for i, s := range sites {
		all.Go(func() { s.endure(ctx, o.For, o.Seed+uint64(i)<<32) })
	}
	all.Wait()
	return nil
}

// endure is the whole course of a site.
func (s *site) endure(ctx context.Context, d time.Duration, seed uint64) {
	s.fleet.calm = false
	hard, over := context.WithTimeout(ctx, d)
	defer over()
	s.suffer(hard, seed)
	if free := s.target.Database.Free; free != nil {
		if err := free(); err != nil {
			s.report.broken(err)
			return
		}
	}
	if err := s.await(ctx); err != nil {
		s.report.broken(err)
		return
	}
	s.fleet.calm = true
	s.observe(ctx)
	s.settle(ctx, seed)
	b := s.observe(ctx)
	if b == nil {
		return
	}
	s.checkStored(b)
	s.checkEffects(b)
	s.check()
}
