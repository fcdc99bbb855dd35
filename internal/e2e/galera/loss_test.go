package galera_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idemgen/idemgen/internal/e2e/rig"
	"github.com/idemgen/idemgen/runtime"
)

// A node is killed under load, then the quorum is lost, then all come back.
// Nothing runs twice, requests without a quorum are told to come again, and in
// the end every key has one answer.
func TestLossOfANodeAndOfTheQuorum(t *testing.T) {
	const clients, each = 6, 60
	all := ledgers(t, create(t, "loss"))
	g := guards(t, all, func(p *runtime.Policy) { p.Lease, p.Timeout = 2*time.Hour, time.Hour })
	var runs sync.Map // of each key
	request := func(node int, key string) (runtime.Result, error) {
		return g[node].Do(context.Background(), rig.Call(key), func(context.Context) (runtime.Answer, error) {
			n, _ := runs.LoadOrStore(key, new(atomic.Int64))
			n.(*atomic.Int64).Add(1)
			return runtime.Answer{Status: 201, Body: []byte(key)}, nil
		})
	}
	name := func(client, i int) string { return fmt.Sprintf("%d-%d", client, i) }

	var done, refused atomic.Int64
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		for done.Load() < clients*each/4 {
			time.Sleep(100 * time.Microsecond)
		}
		cluster.Kill(2)
	}()
	rig.Together(clients, func(client int) {
		for i := range each {
			result, err := request(client%nodes, name(client, i))
			switch s := rig.Status(result, err); s {
			case 201:
				done.Add(1)
			case 409, 503:
				refused.Add(1)
			default:
				t.Errorf("a client got %d, %v", s, err)
			}
		}
	})
	<-killed
	t.Logf("%d requests were answered beside the loss of a node, %d were told to come again", done.Load(), refused.Load())
	// The two that are left take what the third refused; what it may have
	// begun is in progress until it is back.
	for client := range clients {
		result, err := request(client%2, "after the loss of a node "+name(client, 0))
		if rig.Status(result, err) != 201 {
			t.Errorf("after the loss of a node a client got %+v, %v", result, err)
		}
	}

	cluster.Kill(1)
	if err := cluster.AwaitNonPrimary(0); err != nil {
		t.Fatal(err)
	}
	rig.Together(clients, func(client int) {
		for i := range 5 {
			for _, key := range []string{name(client, i), fmt.Sprintf("without quorum %d-%d", client, i)} {
				if result, err := request(0, key); rig.Status(result, err) != 503 {
					t.Errorf("%s: without a quorum a client got %+v, %v, %v; want 503", key, result, err, errors.Unwrap(err))
				}
			}
		}
	})

	for _, node := range []int{1, 2} {
		if err := cluster.Restart(node); err != nil {
			t.Fatal(err)
		}
	}
	for client := range clients {
		for i := range each {
			key := name(client, i)
			for node := range nodes {
				result, err := request(node, key)
				for s := rig.Status(result, err); s == 409 || s == 503; s = rig.Status(result, err) {
					time.Sleep(10 * time.Millisecond)
					result, err = request(node, key)
				}
				if rig.Status(result, err) != 201 || string(result.Answer.Body) != key {
					t.Errorf("%s: in the end node %d answers %+v, %v", key, node, result, err)
				}
			}
			if n, ok := runs.Load(key); !ok || n.(*atomic.Int64).Load() != 1 {
				t.Errorf("%s: the work did not run once: %v", key, n)
			}
		}
	}
}
