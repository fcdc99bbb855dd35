// Package rig is what the tests of several engines do with ledgers.
package rig

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

const (
	// Lease and Retain are so long that the time that a test takes decides
	// nothing.
	Lease  = 2 * time.Hour
	Retain = 48 * time.Hour
)

// ID is a key of alice.
func ID(key string) runtime.ID { return runtime.ID{Principal: "alice", Key: key} }

// NewClaim is a claim by a new owner.
func NewClaim(key string) runtime.Claim {
	c := runtime.Claim{
		ID: ID(key), Terms: runtime.Terms{Lease: Lease, Retain: Retain}, Operation: "POST /v1/orders",
		Policy: "1 raw content-type", Fingerprint: sha256.Sum256([]byte(key)),
	}
	rand.Read(c.Owner[:])
	return c
}

// Fence is the fence of a claim that was won.
func Fence(c runtime.Claim, claimed runtime.Claimed) runtime.Fence {
	return runtime.Fence{ID: c.ID, Generation: claimed.Generation, Owner: c.Owner}
}

// Completion is the answer 201 with a body.
func Completion(f runtime.Fence, body []byte) runtime.Completion {
	return runtime.Completion{
		Fence: f, Terms: runtime.Terms{Retain: Retain},
		Answer: runtime.StoredAnswer{Status: 201, Headers: []byte{}, Body: body},
	}
}

// Insert claims an absent key.
func Insert(t testing.TB, l runtime.Ledger, key string) runtime.Fence {
	t.Helper()
	c := NewClaim(key)
	claimed, won, err := l.Insert(t.Context(), c)
	if err != nil || !won {
		t.Fatalf("Insert(%q) = %v, %v; want it won", key, won, err)
	}
	return Fence(c, claimed)
}

// Read returns the row of a key, which must exist.
func Read(t testing.TB, l runtime.Ledger, key string) runtime.Row {
	t.Helper()
	row, found, err := l.Read(t.Context(), ID(key))
	if err != nil || !found {
		t.Fatalf("Read(%q) = %v, %v; want a row", key, found, err)
	}
	return row
}

// NewEngine is a runtime on a ledger, which is closed before the ledger is.
func NewEngine(t testing.TB, l runtime.Ledger, opts ...runtime.Option) *runtime.Engine {
	t.Helper()
	e, err := runtime.NewEngine(l, append(opts, runtime.WithLogger(slog.New(slog.DiscardHandler)))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return e
}

// NewGuard is a guard of the default policy, changed.
func NewGuard(t testing.TB, e *runtime.Engine, change func(*runtime.Policy)) *runtime.Guard {
	t.Helper()
	p := runtime.DefaultPolicy("POST /v1/orders")
	if change != nil {
		change(&p)
	}
	g, err := e.Guard(p)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Call is a request of alice.
func Call(key string) runtime.Call {
	return runtime.Call{Principal: "alice", Key: key, Fingerprint: func(runtime.Rule) [32]byte { return sha256.Sum256([]byte(key)) }}
}

// Status is the status of a result or refusal.
func Status(result runtime.Result, err error) int {
	var refused *runtime.Error
	if errors.As(err, &refused) {
		return refused.Status
	}
	if err != nil {
		return -1
	}
	return result.Answer.Status
}

// Together runs n goroutines that begin at one moment.
func Together(n int, run func(i int)) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			<-start
			run(i)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
}

// InsertFor claims a key as a guard of the default policy would.
func InsertFor(t testing.TB, l runtime.Ledger, key string) runtime.Fence {
	t.Helper()
	p := runtime.DefaultPolicy("POST /v1/orders")
	c := NewClaim(key)
	c.Policy = p.Fingerprint.String()
	c.Terms = runtime.Terms{Lease: p.Lease, Retain: p.Retain}
	claimed, won, err := l.Insert(t.Context(), c)
	if err != nil || !won {
		t.Fatalf("Insert(%q) = %v, %v; want it won", key, won, err)
	}
	return Fence(c, claimed)
}
