package sqlledger_test

import (
	"reflect"
	"testing"

	"github.com/idemgen/idemgen/runtime/sqlledger"
)

func TestUnpack(t *testing.T) {
	packed := sqlledger.PackedReadRow{
		Operation: "op", Policy: "policy", Fingerprint: []byte("f"), Owner: []byte("o"),
		Packed: "completed 1 2 3 4 5 201 7", ResponseHeaders: []byte("h"), ResponseBody: []byte("b"),
	}
	want := sqlledger.ReadRow{
		Operation: "op", Policy: "policy", Fingerprint: []byte("f"), Status: "completed", Generation: 1, Owner: []byte("o"),
		ClaimedAt: 2, LeaseUntil: 3, ExpiresAt: 4, GoneAt: 5,
		ResponseStatus: 201, ResponseHeaders: []byte("h"), ResponseBody: []byte("b"), Now: 7,
	}
	if row, err := packed.Unpack(); err != nil || !reflect.DeepEqual(row, want) {
		t.Errorf("Unpack = %+v, %v; want %+v", row, err, want)
	}
	for _, text := range []string{"", "completed", "completed 1 2 3 4 5 6", "completed 1 2 3 4 5 6 7 8", "completed 1 2 3 4 5 6 x"} {
		packed.Packed = text
		if row, err := packed.Unpack(); err == nil {
			t.Errorf("Unpack of %q = %+v", text, row)
		}
	}
}
