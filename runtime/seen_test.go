package runtime

import (
	"strconv"
	"testing"
)

// Keys that are met in turn do not push each other out while there are few.
func TestSeenSetKeepsFewKeys(t *testing.T) {
	const keys = 1000
	s := newSeenSet()
	id := func(i int) ID { return ID{Principal: "alice", Key: strconv.Itoa(i)} }
	for i := range keys {
		if s.meet(id(i)) {
			t.Fatalf("key %d was met before it was met", i)
		}
	}
	forgotten := 0
	for i := range keys {
		if !s.meet(id(i)) {
			forgotten++
		}
	}
	if forgotten > keys/100 {
		t.Errorf("%d of %d keys were forgotten", forgotten, keys)
	}
}
