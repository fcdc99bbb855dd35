package faults

import (
	"context"
	"database/sql"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite"

	"github.com/idemgen/idemgen/example/payments"
)

// Options say how to attack.
type Options struct {
	// For is how long the attacks go on. Afterwards everything is mended, each
	// payment asked for once more, and all of it checked.
	For  time.Duration
	Seed uint64
	// Clock runs some servers with a clock that jumps by an hour. They are
	// built with a standard library of their own, which takes a minute at the
	// first time.
	Clock bool

	// mistaken lets the servers make mistakes, so that there is something to
	// find.
	mistaken bool
}

// Run attacks and checks. An error says that the suite itself did not work;
// what it found is in the report.
func Run(ctx context.Context, o Options) (*Report, error) {
	began := time.Now()
	r := newRecord(o.Seed)
	dir, err := os.MkdirTemp("", "faults-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "server")
	if err := build(ctx, binary); err != nil {
		return nil, err
	}
	astray := binary
	if o.Clock {
		astray = filepath.Join(dir, "astray")
		if err := buildAstray(ctx, astray); err != nil {
			return nil, fmt.Errorf("move the clock of a server (leave it out by -clock=false): %w", err)
		}
	} else {
		r.leaveOut("the clock of a server that jumps")
	}
	payer, err := startPayer(ctx, filepath.Join(dir, "payments.db"))
	if err != nil {
		return nil, err
	}
	defer payer.Close()
	toPayer, err := newLine("tcp", payer.Listener.Addr().String())
	if err != nil {
		return nil, err
	}
	defer toPayer.stop()
	postgres, err := postgresSite(r, []string{binary, binary, astray}, toPayer)
	if err != nil {
		return nil, err
	}
	defer postgres.stop()
	sqlite, err := sqliteSite(r, dir, []string{binary, astray}, toPayer)
	if err != nil {
		return nil, err
	}
	defer sqlite.stop()
	sites := []*site{postgres, sqlite}
	if o.mistaken {
		for _, s := range sites {
			for _, n := range s.nodes {
				n.args = append(n.args, "-mistaken")
			}
		}
	}
	if err := attackAll(ctx, o, sites); err != nil {
		return nil, err
	}
	charges, err := payer.Charges(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range sites {
		s.checkCharges(charges)
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
	began := time.Now()
	for _, s := range sites {
		s.history = &history{keys: map[string][]*attempt{}}
		s.fleet = newFleet(s, began, 16)
		if err := s.start(ctx, &alive); err != nil {
			return err
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
	hard, over := context.WithTimeout(ctx, d)
	defer over()
	s.suffer(hard, seed)
	if err := s.mend(); err != nil {
		s.report.broken(err)
		return
	}
	if err := s.await(ctx); err != nil {
		s.report.broken(err)
		return
	}
	s.fleet.calm = true
	s.observe(ctx)
	s.settle(ctx, seed)
	s.observe(ctx)
	s.checkStored(ctx)
	s.check()
}

// payer is the payment service.
type payer struct {
	*payments.Service
	*httptest.Server
	db *sql.DB
}

func startPayer(ctx context.Context, file string) (*payer, error) {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	service, err := payments.NewService(ctx, db)
	if err != nil {
		db.Close()
		return nil, err
	}
	return &payer{service, httptest.NewServer(service), db}, nil
}

func (p *payer) Close() {
	p.Server.Close()
	p.db.Close()
}
