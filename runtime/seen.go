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

// meet remembers a key and reports whether it was met before.
func (s *seenSet) meet(id ID) bool {
	hash := maphash.Comparable(s.seed, id)
	return s.slots[hash%seenSlots].Swap(hash) == hash
}
