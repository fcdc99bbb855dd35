package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/idemgen/idemgen/prove/servers"
)

// Line is the way of a server to something that it needs. It leads through a
// proxy that harms whatever passes, and one that knows what passes.
type Line struct {
	busy   sync.Mutex // held by who attacks it
	toxic  *toxiproxy.Proxy
	around *servers.Proxy
}

// NewLine makes a way to an address. Call Stop at the end.
func NewLine(network, address string) (*Line, error) {
	around, err := servers.StartProxy(network, address)
	if err != nil {
		return nil, err
	}
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	l := &Line{around: around, toxic: toxiproxy.NewProxy(server, "line", "127.0.0.1:0", around.Address())}
	if err := l.toxic.Start(); err != nil {
		around.Stop()
		return nil, err
	}
	return l, nil
}

// Address is where it begins.
func (l *Line) Address() string { return l.toxic.Listen }

// Stop ends it.
func (l *Line) Stop() {
	l.toxic.Stop()
	l.around.Stop()
}

// harm is a way to harm connections: a toxic of the proxy.
type harm struct {
	name, kind string
	attributes func(*rand.Rand) map[string]any
	cuts       bool // connections end of it
	longest    time.Duration
}

var harms = []harm{
	{"reset", "reset_peer", func(r *rand.Rand) map[string]any {
		return map[string]any{"timeout": r.IntN(50)}
	}, true, 500 * time.Millisecond},
	// Both sides believe in the connection and nothing arrives, for longer
	// than a lease now and then.
	{"half-open", "timeout", func(*rand.Rand) map[string]any {
		return map[string]any{"timeout": 0}
	}, true, 3 * time.Second},
	{"timeout", "timeout", func(r *rand.Rand) map[string]any {
		return map[string]any{"timeout": 1 + r.IntN(500)}
	}, true, time.Second},
	{"limit", "limit_data", func(r *rand.Rand) map[string]any {
		return map[string]any{"bytes": 1 + r.IntN(20_000)}
	}, true, time.Second},
	{"latency", "latency", func(r *rand.Rand) map[string]any {
		latency := 1 + r.IntN(200)
		return map[string]any{"latency": latency, "jitter": latency / 2}
	}, false, 2 * time.Second},
}

// suffer harms one direction of all connections for a while. It returns how
// many ended meanwhile.
func (l *Line) suffer(ctx context.Context, random *rand.Rand, h harm) (ended int, err error) {
	before := l.around.Ended()
	data, err := json.Marshal(map[string]any{
		"name": h.name, "type": h.kind,
		"stream":     []string{"upstream", "downstream"}[random.IntN(2)],
		"attributes": h.attributes(random),
	})
	if err != nil {
		return 0, err
	}
	if _, err := l.toxic.Toxics.AddToxicJson(bytes.NewReader(data)); err != nil {
		return 0, fmt.Errorf("%s: %w", h.name, err)
	}
	// Most are short and a few are long.
	part := random.Float64()
	sleep(ctx, h.longest/20+time.Duration(part*part*float64(h.longest)))
	l.toxic.Toxics.ResetToxics(context.Background())
	return l.around.Ended() - before, nil
}

// commits are the places of a COMMIT at which a connection may break.
var commits = []struct {
	name string
	arm  func(p *servers.Proxy, text string, times int)
}{
	{"before", (*servers.Proxy).LoseRequests},
	{"during", (*servers.Proxy).LoseBoth},
	{"after", (*servers.Proxy).LoseAnswers},
}
