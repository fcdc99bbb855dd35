package runtime_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/memory"
)

func secretOf(b byte) []byte { return bytes.Repeat([]byte{b}, 16) }

// servers are servers of one table, as they stand side by side in a deploy.
type servers map[string][]runtime.Option

func (s servers) start(t *testing.T) map[string]*rig {
	rigs := map[string]*rig{}
	ledger := memory.New()
	for name, opts := range s {
		rigs[name] = newRig(t, opts...)
		rigs[name].ledger.Ledger = ledger
	}
	return rigs
}

// Who has the table cannot find a request by trying.
func TestFingerprintIsKeyed(t *testing.T) {
	for name, opts := range map[string][]runtime.Option{
		"a secret":          {runtime.WithFingerprintSecret(secretOf(1))},
		"a sealer":          {runtime.WithSealer(newSealer(t, aesKey(1)))},
		"both":              {runtime.WithSealer(newSealer(t, aesKey(1))), runtime.WithFingerprintSecret(secretOf(1))},
		"a sealer, rotated": {runtime.WithSealer(newSealer(t, aesKey(2), aesKey(1)))},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, opts...)
			h := g.typed(policy(), created)
			do(h, request("k", `{"pin":"4711"}`))
			do(h, request("l", `{"pin":"4711"}`))
			row, _, err := g.ledger.Read(t.Context(), runtime.ID{Principal: "alice", Key: "k"})
			if err != nil {
				t.Fatal(err)
			}
			other, _, err := g.ledger.Read(t.Context(), runtime.ID{Principal: "alice", Key: "l"})
			if err != nil {
				t.Fatal(err)
			}
			if row.Fingerprint == other.Fingerprint {
				t.Error("equal requests have equal fingerprints")
			}
			for pin := range 10_000 {
				r := request("k", "")
				parts := runtime.FingerprintParts{Method: r.Method, URI: r.URL.RequestURI(), Host: r.Host, Header: r.Header, Body: fmt.Appendf(nil, `{"pin":"%04d"}`, pin)}
				guess := policy().Fingerprint.Fingerprint(parts)
				if guess == row.Fingerprint || sha256.Sum256(guess[:]) == row.Fingerprint {
					t.Fatalf("found the pin %04d", pin)
				}
			}
			wantCode(t, do(h, request("k", `{"pin":"4712"}`)), 422, "idempotency_key_reused")
			if w := do(h, request("k", `{"pin":"4711"}`)); w.Code != 201 || g.runs != 2 {
				t.Errorf("%d %s, %d runs", w.Code, w.Body, g.runs)
			}
		})
	}
}

// Rows are compared as they were written, on servers of every age.
func TestFingerprintSecretsInADeploy(t *testing.T) {
	one, two := runtime.WithFingerprintSecret(secretOf(1)), runtime.WithFingerprintSecret(secretOf(2), secretOf(1))
	rigs := servers{
		"plain": nil, "learning": {runtime.WithFingerprintSecret(nil, secretOf(1))}, "one": {one}, "two": {two},
		"sealed": {runtime.WithSealer(newSealer(t, aesKey(1))), two},
		"sealer": {runtime.WithSealer(newSealer(t, aesKey(1)))},
	}.start(t)
	const reads, refuses = true, false
	for writer, readers := range map[string]map[string]bool{
		"plain":    {"plain": reads, "learning": reads, "one": reads, "two": reads},
		"learning": {"plain": reads, "learning": reads, "one": reads, "two": reads},
		"one":      {"plain": refuses, "learning": reads, "one": reads, "two": reads, "sealer": refuses},
		"two":      {"plain": refuses, "learning": refuses, "one": refuses, "two": reads},
		"sealer":   {"plain": refuses, "one": refuses, "sealer": reads, "sealed": reads},
	} {
		key := "from " + writer
		empty := func(context.Context) (*runtime.Response, error) { return nil, runtime.Hold(context.Canceled) }
		do(rigs[writer].typed(policy(), empty), request(key, "a"))
		for reader, can := range readers {
			h := rigs[reader].typed(policy(), created)
			runs := rigs[reader].runs
			same, other := do(h, request(key, "a")), do(h, request(key, "b"))
			if can {
				wantCode(t, same, 409, "idempotency_key_in_progress")
				wantCode(t, other, 422, "idempotency_key_reused")
			} else {
				wantCode(t, same, 409, "idempotency_key_retry")
				wantCode(t, other, 409, "idempotency_key_retry")
			}
			if rigs[reader].runs != runs {
				t.Errorf("%s ran what %s holds", reader, writer)
			}
		}
	}
}

// A row that is taken over keeps its fingerprint, and with it its secret.
func TestFingerprintSecretOutlivesATakeover(t *testing.T) {
	rigs := servers{"plain": nil, "one": {runtime.WithFingerprintSecret(secretOf(1))}}.start(t)
	clock := newClock()
	ledger := memory.New(memory.WithClock(clock.Now))
	for _, g := range rigs {
		g.ledger.Ledger = ledger
	}
	do(rigs["plain"].typed(policy(), held), request("k", "a"))
	clock.move(policy().Lease)
	h := rigs["one"].typed(policy(), created)
	if w := do(h, request("k", "a")); w.Code != 201 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for _, g := range rigs {
		h := g.typed(policy(), created)
		if w := do(h, request("k", "a")); w.Code != 201 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		wantCode(t, do(h, request("k", "b")), 422, "idempotency_key_reused")
	}
}

// plainSealer gives no secrets for fingerprints.
type plainSealer struct{ runtime.Sealer }

func TestFingerprintSecretsThatAreRefused(t *testing.T) {
	for name, opts := range map[string][]runtime.Option{
		"short":         {runtime.WithFingerprintSecret(make([]byte, 15))},
		"empty":         {runtime.WithFingerprintSecret([]byte{})},
		"short earlier": {runtime.WithFingerprintSecret(secretOf(1), make([]byte, 15))},
		"twice":         {runtime.WithFingerprintSecret(secretOf(1), secretOf(1))},
	} {
		if _, err := runtime.NewEngine(memory.New(), opts...); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	g := newRig(t, runtime.WithSealer(plainSealer{newSealer(t, aesKey(1))}))
	if log := g.log.String(); !strings.Contains(log, "WithFingerprintSecret") {
		t.Errorf("log: %s", log)
	}
}
