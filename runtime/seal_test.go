package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/idemgen/idemgen/runtime"
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
