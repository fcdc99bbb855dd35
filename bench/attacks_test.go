package bench_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemgen/idemgen/internal/e2e/postgres/emitted/native"
	"github.com/idemgen/idemgen/runtime"
)

// town is a service on PostgreSQL that honest callers share with others. Its
// pool is small, as that of one of many servers would be.
type town struct {
	run     string // begins every key, so that no two runs share one
	pool    *pgxpool.Pool
	network *breakable
	ledger  runtime.Ledger
	server  *runtime.Server
	handler http.Handler
	// held keeps the handlers of requests to heldPath at work until it is closed.
	held   chan struct{}
	logger *slog.Logger
}

const (
	townPool = 8
	heldPath = "/v1/held"
	oncePath = "/v1/once"
	waitPath = "/v1/wait"
	bodyPath = "/v1/body"
)

func newTown(b *testing.B) *town {
	b.Helper()
	p, err := startPostgres()
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	t := &town{run: rand.Text(), network: &breakable{}, held: make(chan struct{}), logger: slog.Default()}
	slog.SetDefault(slog.New(slog.DiscardHandler))
	config := p.pool.Config().Copy()
	config.ConnConfig.Tracer = nil
	config.MaxConns, config.MinConns = townPool, townPool
	config.ConnConfig.DialFunc = t.network.dial
	if t.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		b.Fatal(err)
	}
	ledger, err := native.Open(ctx, t.pool)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := t.pool.Exec(ctx, "TRUNCATE idempotency_keys"); err != nil {
		b.Fatal(err)
	}
	t.ledger = ledger
	t.server, err = runtime.NewServer(ledger, func(r *http.Request) (string, error) { return r.Header.Get("X-Caller"), nil })
	if err != nil {
		b.Fatal(err)
	}
	mux := http.NewServeMux()
	endpoint := func(path string, work func(), change func(*runtime.Policy)) {
		policy := runtime.DefaultPolicy("POST " + path)
		if change != nil {
			change(&policy)
		}
		mux.Handle("POST "+path, t.server.Handle(policy, runtime.Route{Method: "POST", Pattern: path}, func(r *runtime.Request) (runtime.Work, error) {
			return func(context.Context) (*runtime.Response, error) {
				work()
				return answer, nil
			}, nil
		}))
	}
	endpoint(path, func() {}, nil)
	endpoint(heldPath, func() { <-t.held }, nil)
	endpoint(waitPath, func() { <-t.held }, func(p *runtime.Policy) { p.Wait = time.Minute })
	endpoint(bodyPath, func() {}, func(p *runtime.Policy) { p.Fingerprint.Body = runtime.BodyJSON })
	once := runtime.DefaultPolicy("POST " + oncePath)
	once.Once, once.Failure = true, runtime.FailureRelease
	mux.Handle("POST "+oncePath, runtime.HandleTx(t.server, ledger, once, runtime.Route{Method: "POST", Pattern: oncePath},
		func(*runtime.Request) (runtime.TxWork[pgx.Tx], error) {
			return func(ctx context.Context, _ pgx.Tx) (*runtime.Response, error) {
				if runtime.Principal(ctx) == "mallory" {
					<-t.held
				}
				return answer, nil
			}, nil
		}))
	if err := t.server.Err(); err != nil {
		b.Fatal(err)
	}
	t.handler = mux
	t.honest(b, path, "warm")
	return t
}

func (t *town) close(b *testing.B) {
	b.Helper()
	defer slog.SetDefault(t.logger)
	if err := t.server.Close(context.Background()); err != nil {
		b.Error(err)
	}
	t.pool.Close()
}

// breakable is a network that can be cut.
type breakable struct {
	cut   atomic.Bool
	mu    sync.Mutex
	conns []net.Conn
}

var errCut = errors.New("the network is cut")

func (n *breakable) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if n.cut.Load() {
		return nil, errCut
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err == nil {
		n.mu.Lock()
		n.conns = append(n.conns, conn)
		n.mu.Unlock()
	}
	return conn, err
}

func (n *breakable) set(cut bool) {
	n.cut.Store(cut)
	if cut {
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, conn := range n.conns {
			conn.Close()
		}
		n.conns = nil
	}
}

// attacks are what another caller, mallory, does. begin returns when the attack
// is under way; what it returns ends it and says how many requests it took.
var attacks = []struct {
	name  string
	path  string // of the honest caller's requests
	begin func(b *testing.B, t *town) (stop func() int64)
}{
	{"refused-in-an-outage", path, refusedInAnOutage},
	{"frozen-owners", path, frozenOwners},
	{"one-stale-key", path, oneStaleKey},
	{"once-duplicates", oncePath, onceDuplicates},
	{"waiting-duplicates", path, waitingDuplicates},
	{"fresh-keys", path, freshKeys},
	{"nested-bodies", path, nestedBodies},
	{"long-snapshot", path, longSnapshot},
}

// refusedInAnOutage: many requests were refused while the database was away,
// which is back now.
func refusedInAnOutage(b *testing.B, t *town) func() int64 {
	t.network.set(true)
	var sent atomic.Int64
	err := ready(20_000, 200, func() func(int) error {
		return func(i int) error {
			sent.Add(1)
			t.send("mallory", fmt.Sprintf("%s-outage-%d", t.run, i), path, `{}`)
			return nil
		}
	})()
	if err != nil {
		b.Fatal(err)
	}
	t.network.set(false)
	return sent.Load
}

// stale leaves pending rows of mallory whose lease is over.
func (t *town) stale(b *testing.B, n int) {
	b.Helper()
	for i := range n {
		c := runtime.Claim{ID: runtime.ID{Principal: "mallory", Key: fmt.Sprintf("%s-stale-%d", t.run, i)},
			Terms: runtime.Terms{Lease: time.Millisecond, Retain: time.Hour}, Operation: "POST " + path, Policy: "1 raw content-type"}
		c.Fingerprint = runtime.DefaultPolicy("x").Fingerprint.Fingerprint(runtime.FingerprintParts{Method: "POST", URI: path,
			Header: http.Header{"Content-Type": {kind}}, Body: []byte(`{}`)})
		if _, won, err := t.ledger.Insert(context.Background(), c); err != nil || !won {
			b.Fatal(won, err)
		}
	}
}

// lockStale locks mallory's rows as the transactions of a frozen server would.
func (t *town) lockStale(b *testing.B) (unlock func()) {
	b.Helper()
	ctx := context.Background()
	p, err := startPostgres()
	if err != nil {
		b.Fatal(err)
	}
	config := p.admin.Config().Copy()
	config.Database = "bench"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := conn.Exec(ctx, "BEGIN; SELECT 1 FROM idempotency_keys WHERE principal = 'mallory' FOR UPDATE"); err != nil {
		b.Fatal(err)
	}
	return func() { conn.Close(ctx) }
}

// frozenOwners: forty keys of a server that is frozen with their rows locked,
// and forty clients that retry as Retry-After tells them to.
func frozenOwners(b *testing.B, t *town) func() int64 {
	const n = 40
	t.stale(b, n)
	unlock := t.lockStale(b)
	stop := repeat(n, func(worker, _ int) {
		t.send("mallory", fmt.Sprintf("%s-stale-%d", t.run, worker), path, `{}`)
		time.Sleep(time.Second)
	})
	return func() int64 { defer unlock(); return stop() }
}

// oneStaleKey: one locked row whose client retries twenty times a second.
func oneStaleKey(b *testing.B, t *town) func() int64 {
	t.stale(b, 1)
	unlock := t.lockStale(b)
	var group sync.WaitGroup
	stop := repeat(1, func(int, int) {
		group.Go(func() { t.send("mallory", t.run+"-stale-0", path, `{}`) })
		time.Sleep(50 * time.Millisecond)
	})
	return func() int64 { defer unlock(); defer group.Wait(); return stop() }
}

// duplicates sends requests with one key and returns when the first is at work
// and the others were sent.
func (t *town) duplicates(path string, n int, body string) func() int64 {
	var group sync.WaitGroup
	var begun sync.WaitGroup
	for range n {
		begun.Add(1)
		group.Go(func() {
			begun.Done()
			t.send("mallory", t.run+"-same", path, body)
		})
	}
	begun.Wait()
	return func() int64 {
		close(t.held)
		group.Wait()
		return int64(n)
	}
}

// onceDuplicates: more than ten thousand duplicates of one key whose claim is part of its
// transaction.
func onceDuplicates(_ *testing.B, t *town) func() int64 { return t.duplicates(oncePath, 10_500, `{}`) }

// waitingDuplicates: ten thousand duplicates wait for one owner's answer.
func waitingDuplicates(_ *testing.B, t *town) func() int64 {
	return t.duplicates(waitPath, 10_000, strings.Repeat("x", 16<<10))
}

// freshKeys: one caller sends fresh keys as fast as it can.
func freshKeys(_ *testing.B, t *town) func() int64 {
	return repeat(4*townPool, func(worker, i int) {
		t.send("mallory", fmt.Sprintf("%s-fresh-%d-%d", t.run, worker, i), path, `{}`)
	})
}

// nestedBodies: bodies of JSON that cost more to read than to send.
func nestedBodies(_ *testing.B, t *town) func() int64 {
	body := strings.Repeat("[", 500_000) + strings.Repeat("]", 500_000)
	return repeat(2, func(worker, i int) {
		t.send("mallory", fmt.Sprintf("%s-nested-%d-%d", t.run, worker, i), bodyPath, body)
	})
}

// longSnapshot: much is to be swept that a long transaction still sees.
func longSnapshot(b *testing.B, t *town) func() int64 {
	ctx := context.Background()
	p, err := startPostgres()
	if err != nil {
		b.Fatal(err)
	}
	config := p.admin.Config().Copy()
	config.Database = "bench"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := conn.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM idempotency_keys LIMIT 1"); err != nil {
		b.Fatal(err)
	}
	for i := range 20_000 {
		c := runtime.Claim{ID: runtime.ID{Principal: "mallory", Key: fmt.Sprintf("%s-due-%d", t.run, i)},
			Terms: runtime.Terms{Lease: time.Millisecond, Retain: time.Millisecond}, Operation: "POST " + path, Policy: "1 raw content-type"}
		if _, _, err := t.ledger.Insert(ctx, c); err != nil {
			b.Fatal(err)
		}
	}
	return func() int64 {
		conn.Close(ctx)
		return 20_000
	}
}
