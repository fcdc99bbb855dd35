package runtime

import (
	"hash/maphash"
	"sync/atomic"
)

// seenSet remembers, within a bound, which keys this process has met lately:
// those are probably retries and are read before an insert is tried. A wrong
// answer costs one statement and nothing else, so that full buckets simply
// forget one of theirs, and concurrent writers may. Safe for concurrent use.
type seenSet struct {
	seed    maphash.Seed
	buckets [seenBuckets][seenWays]atomic.Uint64
}

const (
	seenBuckets = 1 << 11
	seenWays    = 4
)

func newSeenSet() *seenSet { return &seenSet{seed: maphash.MakeSeed()} }

// meet remembers a key and reports whether it was met before.
func (s *seenSet) meet(id ID) bool {
	hash := maphash.Comparable(s.seed, id)
	bucket := &s.buckets[hash%seenBuckets]
	// The bits that did not choose the bucket choose whom to forget.
	at := &bucket[hash>>32%seenWays]
	for i := range bucket {
		switch bucket[i].Load() {
		case hash:
			return true
		case 0:
			at = &bucket[i]
		}
	}
	at.Store(hash)
	return false
}
