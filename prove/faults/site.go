package faults

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// site is a target under attack.
type site struct {
	name    string
	target  *Target
	report  *record
	nodes   []*node
	db      *sql.DB // past all proxies, for counting; nil where it is unknown
	history *history
	told    told
	fleet   *fleet
	attacks []attack
	// lives are the database's: a life ends with a kill and another begins.
	lives atomic.Int64
	// principals are the names in the ledger of those that requests carry.
	principals map[string]string
	// sealed ledgers keep other bytes than they answer with.
	sealed bool
	lines  []*Line
}

// newSite gives a target's servers ways to their database, and its attackers
// their orders.
func newSite(r *record, t *Target) (_ *site, err error) {
	if err := t.ready(); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	s := &site{
		name: t.Name, target: t, report: r, db: t.Database.DB, principals: map[string]string{},
		history: &history{keys: map[string][]*attempt{}, all: map[string]payment{}},
	}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	for _, q := range t.Requests {
		if !q.differs() {
			r.leaveOut(t.Name + ": " + q.Name + ": requests that differ under one key: there is no {amount} in it")
		}
		if q.Effects == "" {
			r.leaveOut(t.Name + ": " + q.Name + ": effects, which nothing lists")
		}
	}
	for _, what := range t.Database.LeftOut {
		r.leaveOut(t.Name + ": " + what)
	}
	s.attacks = []attack{
		{t.Database.Pace.kill, s.killServer},
		{t.Database.Pace.pause, s.pauseServer},
		{t.Database.Pace.crowd, s.exhaustPool},
	}
	if t.Database.Restart != nil {
		s.attacks = append(s.attacks, attack{10 * time.Second, s.restartDatabase})
	}
	if t.Database.Fill != nil {
		s.attacks = append(s.attacks, attack{4 * time.Second, s.fillDisk})
	}
	for name, l := range t.Services {
		s.attacks = append(s.attacks, attack{4 * time.Second, func(ctx context.Context, random *rand.Rand) {
			s.harmLine(ctx, random, l, name, nil)
		}})
	}
	for i, command := range t.Servers {
		n := &node{name: fmt.Sprintf("%s server %d", t.Name, i+1), report: r, told: &s.told, mustLive: t.MustLive}
		words := []string{"{db}", t.Database.Name("")}
		for name, l := range t.Services {
			words = append(words, "{"+name+"}", l.Address())
		}
		if t.Database.Address != "" {
			l, err := NewLine(t.Database.Network, t.Database.Address)
			if err != nil {
				return nil, err
			}
			s.lines = append(s.lines, l)
			words = append(words[2:], "{db}", t.Database.Name(l.Address()), "{dbaddr}", l.Address())
			lives := func() int64 { return int64(n.life()) + s.lives.Load() }
			s.attacks = append(s.attacks,
				attack{200 * time.Millisecond, func(ctx context.Context, random *rand.Rand) { s.harmLine(ctx, random, l, "the database", lives) }},
				attack{200 * time.Millisecond, func(ctx context.Context, random *rand.Rand) { s.harmCommits(ctx, random, l) }})
		}
		if n.env, n.command, err = splitCommand(command, t.Database.secret); err != nil {
			return nil, err
		}
		for _, texts := range [][]string{n.env, n.command} {
			for i := range texts {
				texts[i] = strings.NewReplacer(words...).Replace(texts[i])
			}
		}
		s.nodes = append(s.nodes, n)
	}
	return s, nil
}

func (s *site) stop() {
	for _, l := range s.lines {
		l.Stop()
	}
}

// rowOf is where a payment's row is among those of the ledger.
func (s *site) rowOf(p payment) string {
	name, ok := s.principals[p.principal]
	if !ok {
		name = p.principal
	}
	return name + "/" + p.row()
}

// start starts the servers and waits until they serve. They run until ctx ends.
func (s *site) start(ctx context.Context, all *sync.WaitGroup) error {
	for _, n := range s.nodes {
		all.Go(func() { n.serve(ctx) })
	}
	return s.await(ctx)
}

func (s *site) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for _, n := range s.nodes {
		if err := n.await(ctx); err != nil {
			return err
		}
	}
	return nil
}

// suffer runs clients and attackers until ctx ends.
func (s *site) suffer(ctx context.Context, seed uint64) {
	var all sync.WaitGroup
	all.Go(func() { s.fleet.work(ctx, seed) })
	for i, a := range s.attacks {
		random := rand.New(rand.NewPCG(seed, uint64(1000+i)))
		all.Go(func() {
			for sleep(ctx, a.every/2+time.Duration(random.Int64N(int64(a.every)))) {
				a.do(ctx, random)
			}
		})
	}
	all.Go(func() {
		for sleep(ctx, 2*time.Second) {
			s.compare(ctx, false)
		}
	})
	all.Wait()
}
