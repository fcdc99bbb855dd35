package faults

import (
	"context"
	"database/sql"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite"

	"github.com/idemgen/idemgen/example/payments"
	"github.com/idemgen/idemgen/prove/faults"
)

// Options say how to attack.
type Options struct {
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
func Run(ctx context.Context, o Options) (*faults.Report, error) {
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
	}
	payer, err := startPayer(ctx, filepath.Join(dir, "payments.db"))
	if err != nil {
		return nil, err
	}
	defer payer.Close()
	toPayer, err := faults.NewLine("tcp", payer.Listener.Addr().String())
	if err != nil {
		return nil, err
	}
	defer toPayer.Stop()
	postgres, err := faults.OpenDatabase("postgres", dir)
	if err != nil {
		return nil, err
	}
	defer postgres.Close()
	sqlite, err := faults.OpenDatabase("sqlite", dir)
	if err != nil {
		return nil, err
	}
	defer sqlite.Close()
	targets := []*faults.Target{
		target("postgres", postgres, []string{binary, binary, astray}, payer.db, toPayer),
		// Handlers take turns.
		target("sqlite", sqlite, []string{binary, astray}, payer.db, toPayer, "-linger", "2ms"),
	}
	if o.mistaken {
		for _, t := range targets {
			for i := range t.Servers {
				t.Servers[i] = append(t.Servers[i], "-mistaken")
			}
		}
	}
	report, err := faults.Run(ctx, faults.Options{For: o.For, Seed: o.Seed}, targets...)
	if report != nil && !o.Clock {
		report.LeftOut = append(report.LeftOut, "the clock of a server that jumps")
	}
	return report, err
}

// payer is the payment service.
type payer struct {
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
	return &payer{httptest.NewServer(service), db}, nil
}

func (p *payer) Close() {
	p.Server.Close()
	p.db.Close()
}
