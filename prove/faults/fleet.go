package faults

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// fleet are the clients of the servers of one site.
type fleet struct {
	site  *site
	began time.Time
	calm  bool   // nobody hangs up
	run   string // in all keys, so that a database may be used again
	base  int64  // below all numbers, for the same reason

	http    *http.Client
	clients counter
	made    counter
}

// counter hands out numbers.
type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) next() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.n
}

func newFleet(s *site, began time.Time) *fleet {
	return &fleet{site: s, began: began, run: strconv.FormatInt(began.UnixMilli(), 36), calm: true, base: began.Unix() % 1_000_000 * 1000, http: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 64},
	}}
}

// work pays until ctx ends.
func (f *fleet) work(ctx context.Context, seed uint64) {
	var all sync.WaitGroup
	for worker := range f.site.target.Clients {
		random := rand.New(rand.NewPCG(seed, uint64(worker)))
		all.Go(func() {
			var done []payment
			for ctx.Err() == nil {
				done = append(done, f.errand(ctx, random, done)...)
			}
		})
	}
	all.Wait()
}

// errand is one payment as its clients make it. Some have several clients at
// once, of which one may ask for another amount; some were made before.
func (f *fleet) errand(ctx context.Context, random *rand.Rand, before []payment) []payment {
	if len(before) > 0 && random.IntN(6) == 0 {
		f.pay(ctx, random, before[random.IntN(len(before))])
		return nil
	}
	p, ok := f.invent(ctx, random)
	if !ok {
		return nil
	}
	if random.IntN(6) > 0 {
		f.pay(ctx, random, p)
		return []payment{p}
	}
	made := []payment{p}
	var all sync.WaitGroup
	for i := range 2 + random.IntN(4) {
		own, dice := p, rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))
		if i == 1 && random.IntN(2) == 0 && p.request.differs() {
			own.amount++
			made = append(made, own)
		}
		all.Go(func() { f.pay(ctx, dice, own) })
	}
	all.Wait()
	return made
}

// invent makes up a payment, and prepares it; that fails when ctx ends.
// Principals share the texts of their keys, which must not matter.
func (f *fleet) invent(ctx context.Context, random *rand.Rand) (payment, bool) {
	t := f.site.target
	n := f.made.next()
	key, principal := n/len(t.Principals), n%len(t.Principals)
	r := t.Requests[key%len(t.Requests)]
	p := f.name(r, strconv.Itoa(key), principal, int64(n))
	p.amount = 1 + random.Int64N(100_000)
	for f.prepare(ctx, p) != nil {
		if !sleep(ctx, 100*time.Millisecond) {
			return p, false
		}
	}
	f.site.history.expect(p)
	return p, true
}

// first is a payment that nobody else makes, with a key that no two principals
// share.
func (f *fleet) first(ctx context.Context, r *Request, principal int) (payment, error) {
	p := f.name(r, fmt.Sprint("first", principal), principal, int64(f.made.next()))
	p.amount = 1
	f.site.history.expect(p)
	return p, f.prepare(ctx, p)
}

func (f *fleet) name(r *Request, key string, principal int, number int64) payment {
	p := payment{request: r, principal: f.site.target.Principals[principal], number: f.base + number}
	// What the servers of several targets call may be one service, which must
	// not take their keys for one.
	p.key = fmt.Sprintf("%s-%s-%s-%s", f.run, f.site.name, r.Name, key)
	p.reference = fmt.Sprintf("%s-p%d", p.key, principal)
	return p
}

func (f *fleet) prepare(ctx context.Context, p payment) error {
	if p.request.Prepare == "" {
		return nil
	}
	if _, err := f.site.db.ExecContext(ctx, p.fill(p.request.Prepare)); err != nil {
		return fmt.Errorf("prepare %s: %w", p.request.Name, err)
	}
	return nil
}

const (
	patience     = 8 // attempts of a client
	firstBackoff = 40 * time.Millisecond
	maxBackoff   = time.Second
	// longWait is one that some clients do not wait for: they may come back
	// with another errand.
	longWait = 2 * time.Second
)

// pay asks until there is a final answer, as Stripe's clients do: the same key,
// exponential back-off with jitter, no shorter than what the server asks for.
func (f *fleet) pay(ctx context.Context, random *rand.Rand, p payment) {
	client := f.clients.next()
	backoff := firstBackoff
	for range patience {
		a := f.ask(ctx, random, f.anywhere(random), client, p)
		if !a.again() {
			return
		}
		wait := time.Duration((0.5 + random.Float64()/2) * float64(backoff))
		if seconds, err := strconv.Atoi(a.retryAfter); err == nil {
			wait = max(wait, time.Duration(seconds)*time.Second)
		}
		if wait > longWait && random.IntN(4) > 0 {
			break
		}
		if !sleep(ctx, wait) {
			return
		}
		backoff = min(backoff*2, maxBackoff)
	}
	f.site.report.asked("clients that gave up")
}

// anywhere is any server.
func (f *fleet) anywhere(random *rand.Rand) *node {
	return f.site.nodes[random.IntN(len(f.site.nodes))]
}

// ask sends a payment to a server once and keeps what came of it.
func (f *fleet) ask(ctx context.Context, random *rand.Rand, n *node, client int, p payment) *attempt {
	limit := time.Second + time.Duration(random.Int64N(int64(4*time.Second)))
	if !f.calm && random.IntN(20) == 0 {
		limit = time.Duration(random.Int64N(int64(60 * time.Millisecond)))
		f.site.attacked("clients that hang up", 1)
	}
	a := &attempt{payment: p, client: client, outcome: unknown, mayClose: f.site.target.Database.Fill != nil}
	address := n.address()
	if address == "" {
		return a // nobody listens there: nothing was sent
	}
	defer n.ask()()
	// A run that ends lets its last requests come to their end.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	a.sent = int64(time.Since(f.began))
	response, body, err := f.send(ctx, address, p)
	a.got = int64(time.Since(f.began))
	if err == nil {
		a.read(response, body)
		f.clock(response)
	}
	f.site.report.asked(label(a))
	f.site.history.add(a)
	return a
}

func (f *fleet) send(ctx context.Context, address string, p payment) (*http.Response, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, p.request.Method, address+p.fill(p.request.Path), strings.NewReader(p.fill(p.request.Body)))
	if err != nil {
		return nil, nil, err
	}
	// net/http sends a request again by itself when its key header tells that
	// it may; each attempt is to be in the history.
	r.GetBody = nil
	for name, value := range p.request.Header {
		r.Header.Set(name, p.fill(value))
	}
	response, err := f.http.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return response, answer, err
}

// clock counts answers from servers whose clock is far from ours.
func (f *fleet) clock(response *http.Response) {
	if at, err := http.ParseTime(response.Header.Get("Date")); err == nil && time.Until(at).Abs() > 30*time.Minute {
		f.site.attacked("answers by a server whose clock was an hour ahead", 1)
	}
}

// label is how an attempt is counted.
func label(a *attempt) string {
	switch {
	case a.status == 0:
		return "no answer"
	case a.outcome == replayed:
		return fmt.Sprint(a.status, " replayed")
	case a.code != "":
		return fmt.Sprint(a.status, " ", a.code)
	}
	return fmt.Sprint(a.status)
}
