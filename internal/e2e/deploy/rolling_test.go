package deploy_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var fixed = flag.Uint64("deploy.seed", 0, "what the clients send; 0 takes a new seed")

const (
	clients  = 16
	requests = 10000
)

// An allowlist gains X-Api-Version in a rolling deploy, and loses it again in
// the rollback. Whichever release is asked, a retry is refused or replayed as the
// release that ran its key would have it, and nothing runs twice.
func TestRollingDeploy(t *testing.T) {
	was := &release{name: "old", rule: "1 raw content-type", binary: build(t,
		edit{"//idem:fingerprint Content-Type X-Api-Version\n", "//idem:fingerprint Content-Type\n"},
		// A header that fills a field has to join the fingerprint.
		edit{"\tVersion string `json:\"-\" header:\"X-Api-Version\"`\n", ""})}
	is := &release{name: "new", rule: "1 raw content-type x-api-version", binary: build(t), versioned: true}
	seed := *fixed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)

	db := newDatabase(t)
	traffic := make([]*client, clients)
	for i := range traffic {
		traffic[i] = newClient(seed, i)
	}
	var live []*server
	phases := [][]*release{{was}, {was, is}, {is}, {is, was}, {was}}
	for _, wanted := range phases {
		live = db.roll(t, live, wanted)
		var wg sync.WaitGroup
		for _, c := range traffic {
			wg.Go(func() { c.send(t, live, requests/len(phases)/clients) })
		}
		wg.Wait()
		if t.Failed() {
			return
		}
	}
	wantRules(t, db, traffic)
	wantEffects(t, db, traffic)
	wantSights(t, traffic)
}

// roll starts the releases that are wanted and do not run, and asks those that
// are not wanted to end.
func (db database) roll(t *testing.T, live []*server, wanted []*release) (next []*server) {
	t.Helper()
	for _, r := range wanted {
		i := slices.IndexFunc(live, func(s *server) bool { return s.release == r })
		if i < 0 {
			next = append(next, &server{r, db.start(t, r.binary)})
		} else {
			next = append(next, live[i])
		}
	}
	// A server that ends waits for connections on which nothing came yet.
	web.CloseIdleConnections()
	for _, s := range live {
		if slices.Contains(next, s) {
			continue
		}
		if err := s.Stop(); err != nil {
			t.Fatalf("%s: %v\n%s", s.name, err, s.Log())
		}
	}
	return next
}

// wantRules checks that the ledger has one row for each key, which completed in
// its first claim and carries the rule of the release that the client says ran
// it.
func wantRules(t *testing.T, db database, traffic []*client) {
	t.Helper()
	got := map[string]string{}
	db.each(t, `SELECT convert_from(key, 'UTF8'), policy, status, generation FROM idempotency_keys`, func(scan func(...any)) {
		var key, policy, status string
		var generation int
		scan(&key, &policy, &status, &generation)
		got[key] = fmt.Sprintf("%s, %s, generation %d", policy, status, generation)
	})
	want := map[string]string{}
	for _, c := range traffic {
		for _, l := range c.keys {
			want[l.key] = l.by.rule + ", completed, generation 1"
		}
	}
	wantEqual(t, "row", got, want)
}

// wantEffects checks that the effect of each key is that of the request that
// ran, once.
func wantEffects(t *testing.T, db database, traffic []*client) {
	t.Helper()
	got := map[string]string{}
	db.each(t, `SELECT sku, count(*), max(qty) FROM orders GROUP BY sku`, func(scan func(...any)) {
		var sku string
		var n, qty int
		scan(&sku, &n, &qty)
		got[sku] = fmt.Sprintf("%d of %d", n, qty)
	})
	db.each(t, `SELECT 'cancel ' || o.sku, count(*) FROM cancellations AS c JOIN orders AS o ON o.id = c.order_id GROUP BY o.sku`, func(scan func(...any)) {
		var key string
		var n int
		scan(&key, &n)
		got[key] = fmt.Sprint(n)
	})
	want := map[string]string{}
	for _, c := range traffic {
		for _, l := range c.keys {
			want[l.key] = "1"
			if l.places() {
				want[l.key] = fmt.Sprintf("1 of %d", l.number)
			}
		}
	}
	wantEqual(t, "effects", got, want)
}

func wantEqual(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for key := range want {
		if got[key] != want[key] {
			t.Errorf("%s of %q: %q, want %q", what, key, got[key], want[key])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s for %d keys, want %d", what, len(got), len(want))
	}
}

// wantSights checks that every kind of retry was met that the deploy is about,
// and logs how often.
func wantSights(t *testing.T, traffic []*client) {
	t.Helper()
	seen, sent, keys := map[sight]int{}, 0, 0
	for _, c := range traffic {
		sent += c.sent
		keys += len(c.keys)
		for s, n := range c.seen {
			seen[s] += n
		}
	}
	lines := []string{fmt.Sprintf("%d requests, %d of them ran", sent, keys)}
	for _, s := range slices.SortedFunc(maps.Keys(seen), func(a, b sight) int { return strings.Compare(a.String(), b.String()) }) {
		lines = append(lines, fmt.Sprintf("%6d %s", seen[s], s))
	}
	t.Log(strings.Join(lines, "\n"))
	if sent < requests {
		t.Errorf("%d requests were sent, want %d", sent, requests)
	}
	for _, asked := range []string{"old", "new"} {
		for _, want := range []sight{
			{"old", asked, "exact", replayed},
			{"old", asked, "version", replayed},
			{"old", asked, "body", refused},
			{"old", asked, "version and body", refused},
			{"new", asked, "exact", replayed},
			{"new", asked, "version", refused},
			{"new", asked, "body", refused},
			{"new", asked, "version and body", refused},
		} {
			if seen[want] == 0 {
				t.Errorf("never seen: %s", want)
			}
		}
	}
}

func (s sight) String() string {
	return fmt.Sprintf("ran by %s, asked %s: %s: %s", s.ran, s.asked, s.request, s.verdict)
}
