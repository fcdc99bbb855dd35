package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/idemgen/idemgen/example/checkout"
)

// fleet are the clients of the servers of one site.
type fleet struct {
	site    *site
	began   time.Time
	workers int
	calm    bool // nobody hangs up

	http    *http.Client
	clients counter
	paid    counter
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

func newFleet(s *site, began time.Time, workers int) *fleet {
	return &fleet{site: s, began: began, workers: workers, http: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 64},
	}}
}

// work pays until ctx ends.
func (f *fleet) work(ctx context.Context, seed uint64) {
	var all sync.WaitGroup
	for worker := range f.workers {
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
	p := f.invent(random)
	if random.IntN(6) > 0 {
		f.pay(ctx, random, p)
		return []payment{p}
	}
	made := []payment{p}
	var all sync.WaitGroup
	for i := range 2 + random.IntN(4) {
		own, dice := p, rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))
		if i == 1 && random.IntN(2) == 0 {
			own.cents++
			made = append(made, own)
		}
		all.Go(func() { f.pay(ctx, dice, own) })
	}
	all.Wait()
	return made
}

// invent makes up a payment. Accounts share the texts of their keys, which
// must not matter.
func (f *fleet) invent(random *rand.Rand) payment {
	n := f.paid.next()
	m := modes[n/2%len(modes)]
	return payment{
		mode:    m,
		account: []string{"alice", "bob"}[n%2],
		key:     fmt.Sprint(f.site.name, "-", m.name, "-", n/2),
		cents:   1 + random.Int64N(100_000),
	}
}

const (
	patience     = 8 // attempts of a client
	firstBackoff = 40 * time.Millisecond
	maxBackoff   = time.Second
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
		if !sleep(ctx, wait) {
			return
		}
		backoff = min(backoff*2, maxBackoff)
	}
	f.site.report.asked("clients that gave up")
}

// anywhere is the address of any server, or "" when that one is down.
func (f *fleet) anywhere(random *rand.Rand) string {
	return f.site.nodes[random.IntN(len(f.site.nodes))].address()
}

// ask sends a payment once and keeps what came of it.
func (f *fleet) ask(ctx context.Context, random *rand.Rand, address string, client int, p payment) *attempt {
	limit := time.Second + time.Duration(random.Int64N(int64(4*time.Second)))
	if !f.calm && random.IntN(20) == 0 {
		limit = time.Duration(random.Int64N(int64(60 * time.Millisecond)))
		f.site.attacked("clients that hang up", 1)
	}
	a := &attempt{payment: p, client: client, outcome: unknown}
	if address == "" {
		return a // nobody listens there: nothing was sent
	}
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
	body, err := json.Marshal(checkout.Payment{Reference: p.reference(), Cents: p.cents})
	if err != nil {
		return nil, nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address+p.mode.path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	// net/http sends a request again by itself when its key header tells that
	// it may; each attempt is to be in the history.
	r.GetBody = nil
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Account", p.account)
	r.Header.Set("Idempotency-Key", p.key)
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
