package deploy_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// client sends requests under keys of its own. What it sends is given by the
// seed; whom of several concurrent requests the servers let run is not.
type client struct {
	random *rand.Rand
	name   string
	keys   []*life
	placed []*life // orders that nobody has asked to cancel
	sent   int
	seen   map[sight]int
}

// sight is one kind of outcome.
type sight struct{ ran, asked, request, verdict string }

func newClient(seed uint64, number int) *client {
	return &client{
		random: rand.New(rand.NewPCG(seed, uint64(number))),
		name:   fmt.Sprintf("client-%d", number),
		seen:   map[sight]int{},
	}
}

// send sends so many requests, or a few more, to the servers that live.
func (c *client) send(t *testing.T, live []*server, number int) {
	for end := c.sent + number; c.sent < end && !t.Failed(); {
		if len(c.keys) == 0 || c.random.IntN(4) == 0 {
			c.begin(t, live)
		} else {
			c.retry(t, live)
		}
	}
}

// retry sends a variant of a request that was answered, however long ago.
func (c *client) retry(t *testing.T, live []*server) {
	l := c.keys[c.random.IntN(len(c.keys))]
	v := c.variant()
	s, asked := c.any(live), v.change(c, l.request)
	c.sent++
	got, err := asked.send(s.Server)
	if err != nil {
		t.Errorf("%s: %v", asked, err)
		return
	}
	verdict, err := l.judge(asked, got, false)
	if err != nil {
		t.Errorf("%s was asked: %v", s.name, err)
	}
	c.seen[sight{l.by.name, s.name, v.name, verdict}]++
}

// begin uses a new key, half of the time for several requests at once that the
// clients' network repeated or that should have had keys of their own.
func (c *client) begin(t *testing.T, live []*server) {
	type try struct {
		request
		to  *server
		got answer
		err error
	}
	first := c.fresh()
	tries := []*try{{request: first, to: c.any(live)}}
	if c.random.IntN(2) == 0 {
		for range 1 + c.random.IntN(3) {
			tries = append(tries, &try{request: c.variant().change(c, first), to: c.any(live)})
		}
	}
	var wg sync.WaitGroup
	for _, a := range tries {
		c.sent++
		wg.Go(func() { a.got, a.err = a.send(a.to.Server) })
	}
	wg.Wait()

	var ran *try
	for _, a := range tries {
		if a.err != nil {
			t.Errorf("%s: %v", a.request, a.err)
			return
		}
		if ran == nil && a.got.status < 300 && !a.got.replayed {
			ran = a
		}
	}
	if ran == nil {
		t.Errorf("none of %d requests ran; the first was %s and got %+v", len(tries), first, tries[0].got)
		return
	}
	l := &life{ran.request, ran.to.release, ran.got}
	for _, a := range tries {
		if a == ran {
			continue
		}
		verdict, err := l.judge(a.request, a.got, true)
		if err != nil {
			t.Errorf("%s was asked at the same time: %v", a.to.name, err)
		}
		c.seen[sight{l.by.name, a.to.name, l.differs(a.request) + " at once", verdict}]++
	}
	c.keys = append(c.keys, l)
	if l.places() {
		c.placed = append(c.placed, l)
	}
}

// differs names how a request differs from the one that ran.
func (l *life) differs(asked request) string {
	versioned := asked
	versioned.version = l.version
	switch {
	case asked == l.request:
		return "exact"
	case versioned == l.request:
		return "version"
	}
	return "another"
}

// any is one of the servers.
func (c *client) any(live []*server) *server { return live[c.random.IntN(len(live))] }
