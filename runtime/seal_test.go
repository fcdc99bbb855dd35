package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/idemgen/idemgen/runtime"
	"github.com/idemgen/idemgen/runtime/memory"
)

func aesKey(id uint32) runtime.AESKey {
	return runtime.AESKey{ID: id, Key: bytes.Repeat([]byte{byte(id)}, 32)}
}

func newSealer(t *testing.T, keys ...runtime.AESKey) *runtime.AESSealer {
	t.Helper()
	s, err := runtime.NewAESSealer(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSealedAnswersReplay(t *testing.T) {
	g := newRig(t, runtime.WithSealer(newSealer(t, aesKey(1))))
	h := g.typed(policy(), created)
	first := do(h, request("k", ""))
	wantReplay(t, first, do(h, request("k", "")))
	row, found, err := g.ledger.Read(context.Background(), runtime.ID{Principal: "alice", Key: "k"})
	if err != nil || !found {
		t.Fatal(found, err)
	}
	for _, part := range [][]byte{row.Answer.Headers, row.Answer.Body} {
		if bytes.Contains(part, []byte("Location")) || bytes.Contains(part, []byte(`"id"`)) {
			t.Errorf("stored in the clear: %q", part)
		}
	}
}

// An answer that was moved to another caller's row does not open.
func TestSealedAnswerIsBoundToItsRow(t *testing.T) {
	g := newRig(t, runtime.WithSealer(newSealer(t, aesKey(1))))
	h := g.typed(policy(), created)
	do(h, request("alice's", ""))
	do(h, request("k", ""))
	g.ledger.read = func(ctx context.Context, id runtime.ID) (runtime.Row, bool, error) {
		row, found, err := g.ledger.Ledger.Read(ctx, id)
		other, _, _ := g.ledger.Ledger.Read(ctx, runtime.ID{Principal: "alice", Key: "alice's"})
		row.Answer = other.Answer
		return row, found, err
	}
	wantCode(t, do(h, request("k", "")), 500, "internal_error")
}

// What was sealed opens with its status, in the life of the row that it was
// sealed for, and there alone.
func TestSealIsOfAStatusAndALife(t *testing.T) {
	alice := runtime.ID{Principal: "alice", Key: "k"}
	for name, forge := range map[string]func(now, earlier *runtime.Row){
		"another status":        func(now, _ *runtime.Row) { now.Answer.Status = 402 },
		"an answer put back":    func(now, earlier *runtime.Row) { now.Answer = earlier.Answer },
		"headers put back":      func(now, earlier *runtime.Row) { now.Answer.Headers = earlier.Answer.Headers },
		"a body put back":       func(now, earlier *runtime.Row) { now.Answer.Body = earlier.Answer.Body },
		"another generation":    func(now, _ *runtime.Row) { now.Generation++ },
		"another owner":         func(now, _ *runtime.Row) { now.Owner[0]++ },
		"no headers":            func(now, _ *runtime.Row) { now.Answer.Headers = []byte{} },
		"headers without seal":  func(now, _ *runtime.Row) { now.Answer.Headers = []byte("Content-Type: text/plain\n") },
		"headers for the body":  func(now, _ *runtime.Row) { now.Answer.Body = now.Answer.Headers[2:] },
		"nothing but the marks": func(now, _ *runtime.Row) { now.Answer.Headers = now.Answer.Headers[:2] },
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, runtime.WithSealer(newSealer(t, aesKey(1))))
			p := policy()
			h := g.typed(p, created)
			do(h, request("k", ""))
			earlier, _, err := g.ledger.Read(t.Context(), alice)
			if err != nil {
				t.Fatal(err)
			}
			g.clock.move(p.Retain + p.Gone)
			if do(h, request("k", "")); g.runs != 2 {
				t.Fatalf("%d runs", g.runs)
			}
			if w := do(h, request("k", "")); w.Code != 201 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			g.ledger.read = func(ctx context.Context, id runtime.ID) (runtime.Row, bool, error) {
				row, found, err := g.ledger.Ledger.Read(ctx, id)
				forge(&row, &earlier)
				return row, found, err
			}
			wantCode(t, do(h, request("k", "")), 500, "internal_error")
			if g.runs != 2 {
				t.Errorf("%d runs", g.runs)
			}
		})
	}
}

// Whatever stores an answer seals it, and the operator reads it.
func TestEveryWayInSeals(t *testing.T) {
	sealer := runtime.WithSealer(newSealer(t, aesKey(1)))
	secret := runtime.Answer{Status: 201, Header: runtime.Header{{Name: "Location", Value: "/secret"}}, Body: []byte("secret")}
	answers := func(context.Context) (runtime.Answer, error) { return secret, nil }
	g := newRig(t, sealer)
	o, err := runtime.NewOperator(g.ledger.Ledger.(*memory.Ledger), sealer)
	if err != nil {
		t.Fatal(err)
	}
	l := &txLedger{faulty: g.ledger}
	guard := newGuard(t, l, policy(), sealer)
	ways := map[string]func(key string) error{
		"Do": func(key string) error { _, err := guard.Do(t.Context(), callOf(key), answers); return err },
		"DoTx": func(key string) error {
			_, err := runtime.DoTx(t.Context(), guard, l, callOf(key), func(ctx context.Context, _ *bookTx) (runtime.Answer, error) { return answers(ctx) })
			return err
		},
		"DoTx, once": func(key string) error {
			once := &onceLedger{txLedger: l}
			_, err := runtime.DoTx(t.Context(), newGuard(t, once, oncePolicy(), sealer), once, callOf(key), func(ctx context.Context, _ *bookTx) (runtime.Answer, error) { return answers(ctx) })
			return err
		},
		"the background": func(key string) error {
			failed := false
			g.ledger.complete = func(ctx context.Context, c runtime.Completion) (bool, error) {
				if !failed {
					failed = true
					return false, runtime.ErrUnavailable
				}
				return g.ledger.Ledger.Complete(ctx, c)
			}
			engine, err := runtime.NewEngine(g.ledger, sealer)
			if err != nil {
				return err
			}
			guard, err := engine.Guard(policy())
			if err != nil {
				return err
			}
			if _, err := guard.Do(t.Context(), callOf(key), answers); err != nil {
				return err
			}
			return engine.Close(t.Context())
		},
		"the operator": func(key string) error {
			do(g.typed(policy(), held), request(key, ""))
			report, _, err := o.Report(t.Context(), runtime.ID{Principal: "alice", Key: key})
			if err == nil {
				_, err = o.Complete(t.Context(), report.Fence, secret, runtime.Terms{})
			}
			return err
		},
	}
	for name, store := range ways {
		t.Run(name, func(t *testing.T) {
			id := runtime.ID{Principal: "alice", Key: name}
			if err := store(name); err != nil {
				t.Fatal(err)
			}
			row, found, err := g.ledger.Read(t.Context(), id)
			if err != nil || !found || !row.Completed {
				t.Fatal(found, row.Completed, err)
			}
			if stored := string(row.Answer.Headers) + string(row.Answer.Body); strings.Contains(stored, "secret") {
				t.Errorf("stored in the clear: %q", stored)
			}
			if w := do(g.typed(policy(), created), request(name, "")); w.Code != 201 || w.Body.String() != "secret" {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if answer, found, err := o.Answer(t.Context(), id); err != nil || !found || string(answer.Body) != "secret" {
				t.Errorf("the operator reads %+v, %v, %v", answer, found, err)
			}
		})
	}
}

// A sealer is switched on over a table full of answers.
func TestAllowUnsealed(t *testing.T) {
	for name, c := range map[string]struct {
		opts        []runtime.Option
		code, empty int
	}{
		"not allowed":    {nil, 500, 500},
		"allowed":        {[]runtime.Option{runtime.AllowUnsealed(time.Now().Add(time.Hour))}, 201, 204},
		"allowed before": {[]runtime.Option{runtime.AllowUnsealed(time.Now().Add(-time.Hour))}, 500, 500},
	} {
		t.Run(name, func(t *testing.T) {
			clear := newRig(t)
			empty := func(context.Context) (*runtime.Response, error) { return runtime.NoContent(204), nil }
			do(clear.typed(policy(), created), request("k", ""))
			do(clear.typed(policy(), empty), request("empty", ""))
			g := newRig(t, append(c.opts, runtime.WithSealer(newSealer(t, aesKey(1))))...)
			g.ledger.Ledger = clear.ledger.Ledger
			h := g.typed(policy(), created)
			if w := do(h, request("k", "")); w.Code != c.code {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if w := do(h, request("empty", "")); w.Code != c.empty {
				t.Errorf("an answer without a body: %d %s", w.Code, w.Body)
			}
			if w := do(h, request("new", "")); w.Code != 201 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			wantReplay(t, do(h, request("newer", "")), do(h, request("newer", "")))
			if g.runs != 2 {
				t.Errorf("%d runs", g.runs)
			}
			// A server that has no sealer yet cannot compare the requests.
			wantCode(t, do(clear.typed(policy(), created), request("new", "")), 409, "idempotency_key_retry")
		})
	}
	for name, opts := range map[string][]runtime.Option{
		"without a sealer": {runtime.AllowUnsealed(time.Now())},
		"until no time":    {runtime.AllowUnsealed(time.Time{}), runtime.WithSealer(newSealer(t, aesKey(1)))},
	} {
		if _, err := runtime.NewEngine(memory.New(), opts...); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestSealerKeysRotate(t *testing.T) {
	ctx := context.Background()
	old, renewed, other := newSealer(t, aesKey(1)), newSealer(t, aesKey(2), aesKey(1)), newSealer(t, aesKey(2))
	sealed, err := old.Seal(ctx, []byte("row"), []byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := renewed.Open(ctx, []byte("row"), sealed); err != nil || string(plain) != "text" {
		t.Errorf("%q, %v", plain, err)
	}
	for name, c := range map[string]struct {
		sealer  *runtime.AESSealer
		binding string
		sealed  []byte
	}{
		"key that is gone": {other, "row", sealed},
		"another binding":  {old, "column", sealed},
		"changed":          {old, "row", append(bytes.Clone(sealed[:len(sealed)-1]), sealed[len(sealed)-1]^1)},
		"short":            {old, "row", sealed[:10]},
		"empty":            {old, "row", nil},
	} {
		if plain, err := c.sealer.Open(ctx, []byte(c.binding), c.sealed); err == nil {
			t.Errorf("%s: opened as %q", name, plain)
		}
	}
	again, err := renewed.Seal(ctx, []byte("row"), []byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.Open(ctx, []byte("row"), again); err == nil {
		t.Error("the first key did not seal")
	}
}

func TestNewAESSealerRefuses(t *testing.T) {
	for name, keys := range map[string][]runtime.AESKey{
		"none": {}, "short": {{ID: 1, Key: make([]byte, 16)}}, "twice": {aesKey(1), aesKey(1)},
	} {
		if _, err := runtime.NewAESSealer(keys...); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// failingSealer fails as a key service that cannot be reached.
type failingSealer struct{ runtime.Sealer }

func (failingSealer) Seal(context.Context, []byte, []byte) ([]byte, error) {
	return nil, errors.New("key service is down")
}

// What cannot be sealed is not stored in the clear.
func TestAnswerThatCannotBeSealedIsNotStored(t *testing.T) {
	g := newRig(t, runtime.WithSealer(failingSealer{}))
	l := &txLedger{}
	wantCode(t, do(g.transacted(l, txPolicy(), bookOne), request("k", "")), 503, "idempotency_ledger_unavailable")
	wantBook(t, l)
}
