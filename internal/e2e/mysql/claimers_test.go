package mysql_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/idemgen/idemgen/runtime"
)

// Equal and neighbouring keys under gap locks: whatever deadlocks the server
// sees, no caller sees one.
func TestClaimersOfNeighbours(t *testing.T) {
	for _, isolation := range []string{"REPEATABLE-READ", "SERIALIZABLE", "READ-COMMITTED"} {
		t.Run(isolation, func(t *testing.T) {
			const claimers, keys, rounds = 50, 10, 20
			l, _ := newLedger(t, 0, "tx_isolation='"+isolation+"'")
			var retried atomic.Int64
			l.NotifyRetry(func(context.Context, string, error) { retried.Add(1) })
			for round := range rounds {
				var wins, completions [keys]atomic.Int64
				together(claimers, func(i int) {
					k := i % keys
					c := newClaim(fmt.Sprintf("%d-%d", round, k))
					claimed, won, err := l.Insert(context.Background(), c)
					if err != nil {
						t.Errorf("insert: %v", err)
					}
					if !won {
						return
					}
					wins[k].Add(1)
					f := fence(c, claimed)
					if i/keys%2 == 0 {
						stands, err := l.Complete(context.Background(), completion(f, []byte("answer")))
						if err != nil || !stands {
							t.Errorf("complete: %v, %v", stands, err)
						}
						completions[k].Add(1)
						return
					}
					if held, err := l.Release(context.Background(), f); err != nil || !held {
						t.Errorf("release: %v, %v", held, err)
					}
				})
				for k := range keys {
					if wins[k].Load() == 0 || completions[k].Load() > 1 {
						t.Errorf("key %d was won %d times and completed %d times", k, wins[k].Load(), completions[k].Load())
					}
				}
			}
			t.Logf("%d statements were sent again", retried.Load())
		})
	}
}

// Releases beside inserts of the same key are where InnoDB's shared locks on
// duplicates deadlock.
func TestClaimersOfAKeyThatIsReleased(t *testing.T) {
	const claimers, rounds = 50, 20
	l, _ := newLedger(t, 0)
	var retried atomic.Int64
	l.NotifyRetry(func(context.Context, string, error) { retried.Add(1) })
	f := insert(t, l, "k")
	for range rounds {
		next := make(chan runtime.Fence, claimers)
		together(claimers, func(i int) {
			if i == 0 {
				if held, err := l.Release(context.Background(), f); err != nil || !held {
					t.Errorf("release: %v, %v", held, err)
				}
				return
			}
			c := newClaim("k")
			claimed, won, err := l.Insert(context.Background(), c)
			if err != nil {
				t.Errorf("insert: %v", err)
			}
			if won {
				next <- fence(c, claimed)
			}
		})
		if len(next) > 1 {
			t.Fatalf("%d claims won a key that was released once", len(next))
		}
		if len(next) == 0 {
			f = insert(t, l, "k")
		} else {
			f = <-next
		}
	}
	t.Logf("%d statements were sent again", retried.Load())
}

func TestManyClientsOfAFreshKey(t *testing.T) {
	const clients = 500
	l, _ := newLedger(t, 64)
	g := newGuard(t, newEngine(t, l), nil)
	var runs atomic.Int64
	var statuses [600]atomic.Int64
	together(clients, func(int) {
		result, err := g.Do(context.Background(), call("k"), func(context.Context) (runtime.Answer, error) {
			runs.Add(1)
			return runtime.Answer{Status: 201, Body: []byte("made")}, nil
		})
		s := status(result, err)
		if s != 201 && s != 409 {
			t.Errorf("a client got %d, %v", s, err)
			return
		}
		statuses[s].Add(1)
	})
	if runs.Load() != 1 {
		t.Errorf("the work ran %d times", runs.Load())
	}
	t.Logf("%d got the answer, %d were told to wait", statuses[201].Load(), statuses[409].Load())
	if result, err := g.Do(context.Background(), call("k"), func(context.Context) (runtime.Answer, error) {
		return runtime.Answer{}, errors.New("ran again")
	}); status(result, err) != 201 || string(result.Answer.Body) != "made" {
		t.Errorf("afterwards: %+v, %v", result, err)
	}
}

func TestManyClientsOfAStaleKey(t *testing.T) {
	const clients, rounds = 16, 20
	l, _ := newLedger(t, 0)
	g := newGuard(t, newEngine(t, l), nil)
	for round := range rounds {
		key := fmt.Sprint("k", round)
		f := insertFor(t, l, key)
		if held, err := l.EndLease(t.Context(), f); err != nil || !held {
			t.Fatal(held, err)
		}
		var runs atomic.Int64
		together(clients, func(int) {
			result, err := g.Do(context.Background(), call(key), func(ctx context.Context) (runtime.Answer, error) {
				runs.Add(1)
				return runtime.Answer{Status: 201}, nil
			})
			if s := status(result, err); s != 201 && s != 409 {
				t.Errorf("a client got %d, %v", s, err)
			}
		})
		if runs.Load() != 1 {
			t.Errorf("%d takeovers of one row", runs.Load())
		}
	}
}
