package runtime

import (
	"hash/maphash"
	"sync/atomic"
)

// seenSet remembers, within a bound, which keys this process has met lately:
// those are probably retries and are read before an insert is tried. A wrong
// answer costs one statement and nothing else, so slots simply overwrite each
// other. Safe for concurrent use.
type seenSet struct {
	seed  maphash.Seed
	slots [seenSlots]atomic.Uint64
}

const seenSlots = 1 << 13

func newSeenSet() *seenSet { return &seenSet{seed: maphash.MakeSeed()} }

func (s *seenSet) slot(id ID) (*atomic.Uint64, uint64) {
	hash := maphash.Comparable(s.seed, id)
	return &s.slots[hash%seenSlots], hash
}

func (s *seenSet) has(id ID) bool {
	slot, hash := s.slot(id)
	return slot.Load() == hash
}

func (s *seenSet) add(id ID) {
	slot, hash := s.slot(id)
	slot.Store(hash)
}
